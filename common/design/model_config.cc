// ModelConfig -> ModelSpec, with every mistake.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/coupling_config.h"
#include "common/design/decision_log_config.h"
#include "common/design/families/cold_config.h"
#include "common/design/family.h"
#include "common/design/features_config.h"
#include "common/design/model_spec.h"
#include "common/design/privacy_config.h"
#include "common/design/selection_policy.h"
#include "common/design/wire_messages.h"
#include "common/promise/field_checks.h"
#include "common/promise/model_rules.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

// Defaults of config.proto.
constexpr double kFeatureL2Max = 1;
constexpr double kStddev = 1;  // of rewards, and of the prior
constexpr double kFailureProbability = 0.01;
constexpr double kThetaL2Max = 1;
constexpr absl::Duration kRefreshInterval = absl::Milliseconds(100);
constexpr absl::Duration kTokenLifetime = absl::Hours(24);
constexpr std::uint64_t kCheckpointEvents = 100'000;
constexpr absl::Duration kCheckpointInterval = absl::Seconds(300);
// Bounds of config.proto.
constexpr absl::Duration kHalfLifeMin = absl::Hours(1);
constexpr absl::Duration kHalfLifeMax = absl::Hours(87600);

template <typename T>
T OrDefault(T given, T fallback) {
  return given == T{} ? fallback : given;
}

wire::Duration OrDefault(bool given, const google::protobuf::Duration& duration,
                         absl::Duration fallback) {
  return FromProto(given ? duration : ToProto(fallback));
}

void ParseShape(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  out.name = config.name();
  CheckModelName("name", out.name, checks);
  out.feature_l2_max = checks.Positive(
      "feature_l2_max", OrDefault(config.feature_l2_max(), kFeatureL2Max), kScaleMax);
  if (config.has_features()) {
    ParseFeatures(config, spec, checks);
  } else {
    out.dimension = static_cast<int>(
        checks.Count("dimension", config.dimension(), 1, FamilyOf(spec).scope().dimension_max));
  }
  spec.bandit.dimension = out.dimension;
  out.reject_features =
      CheckOutOfRange("feature_out_of_range", config.feature_out_of_range(), checks);
  const bool unset = config.reward_min() == 0 && config.reward_max() == 0;
  out.reward_range =
      CheckRewardRange(config.reward_min(), unset ? 1.0 : config.reward_max(), checks);
  out.reward_binary = config.reward_binary();
  spec.reject_rewards =
      CheckOutOfRange("reward_out_of_range", config.reward_out_of_range(), checks);
}

void ParseTiming(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  CheckReporting(FromProto(config.reporting()), out, checks);
  out.token_lifetime = CheckTokenLifetime(
      OrDefault(config.has_token_lifetime(), config.token_lifetime(), kTokenLifetime), out, checks);
  spec.decisions_open_max = checks.Count(
      "decisions_open_max", OrDefault(config.decisions_open_max(), DecisionsOpenMaxOf(out.mode)),
      1000, kDecisionsOpenMaxMax);
  spec.refresh_interval = checks.Span(
      "refresh_interval",
      OrDefault(config.has_refresh_interval(), config.refresh_interval(), kRefreshInterval),
      absl::ZeroDuration(), absl::Hours(1));
  if (config.has_half_life()) {
    spec.half_life =
        checks.Span("half_life", FromProto(config.half_life()), kHalfLifeMin, kHalfLifeMax);
  }
  const FieldChecks checkpoint = checks.Inside("checkpoint");
  spec.checkpoint_events = checkpoint.Count(
      "events", OrDefault(config.checkpoint().events(), kCheckpointEvents), 1, 1'000'000'000);
  spec.checkpoint_interval =
      checkpoint.Span("interval",
                      OrDefault(config.checkpoint().has_interval(), config.checkpoint().interval(),
                                kCheckpointInterval),
                      absl::Seconds(1), absl::Hours(24));
}

ExplorationRule ParseExploration(const v1::Exploration& exploration, double alpha_default,
                                 const FieldChecks& checks) {
  ExplorationRule rule{.kind = ExplorationRule::Kind::kConstant, .alpha = alpha_default};
  switch (exploration.rule_case()) {
    case v1::Exploration::RULE_NOT_SET:
      break;
    case v1::Exploration::kAlpha:
      rule.alpha = checks.Closed("alpha", exploration.alpha(), 0, kScaleMax);
      break;
    case v1::Exploration::kAlphaLog:
      rule.kind = ExplorationRule::Kind::kLog;
      rule.alpha = checks.Closed("alpha_log", exploration.alpha_log(), 0, kScaleMax);
      break;
    case v1::Exploration::kConfidence: {
      const FieldChecks inside = checks.Inside("confidence");
      const v1::ConfidenceBound& bound = exploration.confidence();
      rule.kind = ExplorationRule::Kind::kConfidence;
      rule.failure_probability = inside.OpenUnit(
          "failure_probability", OrDefault(bound.failure_probability(), kFailureProbability));
      rule.theta_l2_max =
          inside.Positive("theta_l2_max", OrDefault(bound.theta_l2_max(), kThetaL2Max), kScaleMax);
      break;
    }
  }
  return rule;
}

// Squares below 1e-30 are no variances that a model can work with.
constexpr double kStddevMin = 1e-15;

// The square of a standard deviation in [kStddevMin, kScaleMax].
double Variance(std::string_view field, double stddev, const FieldChecks& checks) {
  const double checked = checks.Closed(field, stddev, kStddevMin, kScaleMax);
  return checked * checked;
}

void ParseBandit(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  const Family::Defaults defaults = FamilyOf(spec).defaults(spec.public_spec.reward_range);
  spec.bandit.observation_variance =
      Variance("reward_stddev", OrDefault(config.reward_stddev(), defaults.reward_stddev), checks);
  spec.reward_stddev = std::sqrt(spec.bandit.observation_variance);
  spec.bandit.prior_variance = Variance("prior_stddev", PriorStddev(config), checks);
  spec.bandit.exploration =
      ParseExploration(config.exploration(), defaults.alpha, checks.Inside("exploration"));
}

// Reports of a curved link are of a linear model of slope theta (Straighten); the configuration
// speaks of theta.
void ScaleByLink(ModelSpec& spec) {
  const double slope = LinkSlope(spec.public_spec.link, 0);
  spec.bandit.prior_variance *= slope * slope;
  spec.bandit.exploration.theta_l2_max *= slope;
  spec.theta_l2_max = spec.config.exploration().has_confidence()
                          ? spec.bandit.exploration.theta_l2_max
                          : std::sqrt(spec.bandit.dimension * spec.bandit.prior_variance);
}

void ParseArms(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
               const FieldChecks& checks) {
  const auto most =
      static_cast<int>(kCatalogueFeaturesMax /
                       std::clamp(spec.public_spec.dimension, kDimensionMax, kSparseDimensionMax));
  spec.arms_max = static_cast<int>(checks.Count(
      "arms_max", OrDefault<std::uint64_t>(config.arms_max(), std::min(kArmsMaxDefault, most)), 1,
      most));
  spec.config.clear_arms_file();
  if (config.arms_file().empty()) return;
  if (!files.allowed) {
    checks.Add("arms_file", "cannot be named here: send the arms by PutArms");
    return;
  }
  spec.arms_file = ResolvePath(config.arms_file(), files.folder);
}

// Each field by itself.
void ParseFields(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                 const FieldChecks& checks) {
  ParseShape(config, spec, checks);
  ParseCoupling(config, files, spec, checks);
  ParseBandit(config, spec, checks);
  ParsePrivacy(spec, checks);
  spec.public_spec.link = CheckLink(config.link(), spec.public_spec, checks);
  ScaleByLink(spec);
  ParseTiming(config, spec, checks);
  ParseArms(config, files, spec, checks);
  ParseSelectionPolicy(config, spec, checks);
  ParseDecisionLog(config, spec, checks);
  ParseColdArms(config, spec, checks);
}

void CompleteAndCheck(ModelSpec& spec, const FieldChecks& checks) {
  FamilyOf(spec).Complete(spec);
  CheckTogether(spec, checks);
}

// Names the planner's choice in the configuration.
void Plan(const MechanismPlanner& planner, ModelSpec& spec, const FieldChecks& checks) {
  if (planner == nullptr || !AsksForAuto(spec.config)) return;
  absl::StatusOr<std::optional<PlannedMechanism>> planned = planner(spec);
  if (!planned.ok()) {
    checks.Add("privacy.mechanism", absl::StrCat("AUTO: ", planned.status().message()));
    return;
  }
  if (!planned->has_value()) return;
  *spec.config.mutable_privacy() = std::move((*planned)->privacy);
  spec.plan = std::move((*planned)->text);
  ParsePrivacy(spec, checks);
}

}  // namespace

double RewardStddev(const v1::ModelConfig& config) {
  return OrDefault(config.reward_stddev(), kStddev);
}
double PriorStddev(const v1::ModelConfig& config) {
  return OrDefault(config.prior_stddev(), kStddev);
}

std::optional<ModelSpec> ParseModelConfig(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, const MechanismPlanner& planner,
                                          std::vector<ConfigError>& errors) {
  std::vector<ConfigError> found;
  const FieldChecks checks(found);
  const FileSource files{.folder = folder, .allowed = allow_files};
  ModelSpec spec;
  spec.config = config;
  // Each stage needs what the one before it found right.
  const auto stages = {
      std::function([&] { ParseFields(config, files, spec, checks); }),
      std::function([&] { CompleteAndCheck(spec, checks); }),
      std::function([&] { Plan(planner, spec, checks); }),
      std::function([&] { CompleteAndCheck(spec, checks); }),
      std::function([&] { MakeInForce(spec, checks); }),
  };
  for (const auto& stage : stages) {
    stage();
    if (found.empty()) continue;
    errors.insert(errors.end(), found.begin(), found.end());
    return std::nullopt;
  }
  return spec;
}

std::optional<ModelSpec> ParseModelConfig(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors) {
  return ParseModelConfig(config, folder, allow_files, nullptr, errors);
}

}  // namespace bandana
