// ModelConfig -> ModelSpec, with every mistake.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/context_policy.h"
#include "common/design/counter_policy.h"
#include "common/design/coupling_config.h"
#include "common/design/field_checks.h"
#include "common/design/mechanism.h"
#include "common/design/model_rules.h"
#include "common/design/model_spec.h"
#include "common/design/points_policy.h"
#include "common/design/privacy_rules.h"
#include "common/design/sparse_policy.h"

namespace bandana {
namespace {

// Defaults of config.proto.
constexpr double kFeatureL2Max = 1;
constexpr double kStddev = 1;
constexpr double kAlpha = 0.3;
constexpr double kFailureProbability = 0.01;
constexpr double kThetaL2Max = 1;
constexpr absl::Duration kRefreshInterval = absl::Milliseconds(100);
constexpr absl::Duration kTokenLifetime = absl::Hours(24);
constexpr std::uint64_t kCheckpointEvents = 100'000;
constexpr absl::Duration kCheckpointInterval = absl::Seconds(300);

template <typename T>
T OrDefault(T given, T fallback) {
  return given == T{} ? fallback : given;
}

google::protobuf::Duration OrDefault(bool given, const google::protobuf::Duration& duration,
                                     absl::Duration fallback) {
  return given ? duration : DurationToProto(fallback);
}

void ParseShape(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  out.name = config.name();
  CheckModelName("name", out.name, checks);
  out.dimension =
      static_cast<int>(checks.Count("dimension", config.dimension(), 1,
                                    config.has_sparse() ? kSparseDimensionMax : kDimensionMax));
  spec.bandit.dimension = out.dimension;
  out.feature_l2_max = checks.Positive(
      "feature_l2_max", OrDefault(config.feature_l2_max(), kFeatureL2Max), kScaleMax);
  out.reject_features =
      CheckOutOfRange("feature_out_of_range", config.feature_out_of_range(), checks);
  const bool unset = config.reward_min() == 0 && config.reward_max() == 0;
  out.reward_range =
      CheckRewardRange(config.reward_min(), unset ? 1.0 : config.reward_max(), checks);
  out.reward_binary = config.reward_binary();
  spec.reject_rewards =
      CheckOutOfRange("reward_out_of_range", config.reward_out_of_range(), checks);
}

// The mechanism in force. AUTO takes the mode's proven and pure one; a server asks its planner
// first (common/planner/served_config.h).
const MechanismRule& InForce(v1::Mechanism asked, v1::Mode mode, bool sparse,
                             const FieldChecks& checks) {
  const MechanismRule& otherwise = *FindMechanism(mode == v1::LOCAL_CONTEXT     ? v1::PRIVUNIT
                                                  : mode == v1::JOINT && sparse ? v1::SPARSE_RELEASE
                                                  : mode == v1::JOINT           ? v1::COUNTER
                                                                      : v1::REWARD_RANDOMIZER);
  if (asked == v1::AUTO || asked == v1::MECHANISM_UNSPECIFIED) return otherwise;
  const MechanismRule* rule = FindMechanism(asked);
  if (rule == nullptr) {
    checks.Add("mechanism", absl::StrCat("must be one of ", MechanismNames(mode), ", got ",
                                         static_cast<int>(asked)));
    return otherwise;
  }
  CheckMode(*rule, mode, checks);
  return *rule;
}

void ParseMechanism(const v1::Privacy& privacy, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  const double delta_max = privacy.research() ? 1.0 : kDeltaPolicyMax;
  if (!(privacy.delta() >= 0 && privacy.delta() <= delta_max && privacy.delta() < 1)) {
    checks.Add("delta", absl::StrCat("must be in [0, ", delta_max,
                                     privacy.research() ? ")" : "] unless research is true",
                                     ", got ", privacy.delta()));
  }
  const MechanismRule& rule =
      InForce(privacy.mechanism(), out.mode, spec.sparse.has_value(), checks);
  if (!rule.pure && privacy.delta() == 0) {
    checks.Add("delta", absl::StrCat("must be above 0 for ", v1::Mechanism_Name(rule.mechanism),
                                     ": its noise is Gaussian"));
  }
  out.mechanism = rule.mechanism;
  // A pure mechanism spends no delta whatever is allowed.
  out.delta = Delta{rule.pure ? 0 : privacy.delta()};
  if (privacy.has_counter() && !rule.counter && privacy.mechanism() == rule.mechanism) {
    checks.Add("counter",
               absl::StrCat("is refused with mechanism ", v1::Mechanism_Name(rule.mechanism),
                            ", which has no counter"));
  }
  if (privacy.has_counter() || rule.counter) {
    const CounterSpec counter = CheckCounter("counter", WithDefaults(privacy.counter()), checks);
    if (rule.counter) out.counter = counter;
  }
  checks.Count("planned_events_per_user",
               OrDefault(privacy.planned_events_per_user(), kPlannedEventsDefault), 1,
               kCounterStepsMax);
}

void ParsePrivacy(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  out.mode = config.mode();
  if (config.mode() == v1::NON_PRIVATE) {
    if (config.has_privacy()) checks.Add("privacy", "is refused for mode NON_PRIVATE");
    return;
  }
  if (!IsPrivateMode(config.mode())) {
    checks.Add("mode",
               "is required: NON_PRIVATE, LOCAL_REWARD, CENTRAL_REWARD, JOINT or LOCAL_CONTEXT");
    return;
  }
  if (spec.reject_rewards) {
    checks.Add("reward_out_of_range",
               "must be CLIP for a private model: a rejection would tell about the reward");
  }
  if (!config.has_privacy()) {
    checks.Add("privacy", absl::StrCat("is required for mode ", v1::Mode_Name(config.mode())));
    return;
  }
  const v1::Privacy& privacy = config.privacy();
  const FieldChecks inside = checks.Inside("privacy");
  out.research = privacy.research();
  out.epsilon = CheckEpsilon(privacy.epsilon(), privacy.research(), inside);
  ParseMechanism(privacy, spec, inside);
  if (out.mechanism == v1::CENTRED_RANDOMIZER && out.reward_binary) {
    inside.Add("mechanism", "CENTRED_RANDOMIZER is for rewards that are not binary");
  }
  out.unit_of_privacy = "event";
  out.guarantee = "proven";
  out.events_per_user_max = privacy.events_per_user_max();
}

void ParseTiming(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  PublicSpec& out = spec.public_spec;
  CheckReporting(config.has_reporting() ? &config.reporting() : nullptr, out, checks);
  out.token_lifetime = CheckTokenLifetime(
      OrDefault(config.has_token_lifetime(), config.token_lifetime(), kTokenLifetime), out, checks);
  spec.decisions_open_max = checks.Count(
      "decisions_open_max", OrDefault(config.decisions_open_max(), kDecisionsOpenMaxDefault), 1000,
      100'000'000);
  spec.refresh_interval = checks.Span(
      "refresh_interval",
      OrDefault(config.has_refresh_interval(), config.refresh_interval(), kRefreshInterval),
      absl::ZeroDuration(), absl::Hours(1));
  const FieldChecks checkpoint = checks.Inside("checkpoint");
  spec.checkpoint_events = checkpoint.Count(
      "events", OrDefault(config.checkpoint().events(), kCheckpointEvents), 1, 1'000'000'000);
  spec.checkpoint_interval =
      checkpoint.Span("interval",
                      OrDefault(config.checkpoint().has_interval(), config.checkpoint().interval(),
                                kCheckpointInterval),
                      absl::Seconds(1), absl::Hours(24));
}

ExplorationRule ParseExploration(const v1::Exploration& exploration, const FieldChecks& checks) {
  ExplorationRule rule{.kind = ExplorationRule::Kind::kConstant, .alpha = kAlpha};
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

// The square of a standard deviation in (0, kScaleMax].
double Variance(std::string_view field, double given, const FieldChecks& checks) {
  const double stddev = OrDefault(given, kStddev);
  const double variance = stddev * stddev;
  if (stddev > 0 && variance == 0) {
    checks.Add(field, absl::StrCat("must have a square above 0, got ", stddev));
  } else {
    checks.Positive(field, stddev, kScaleMax);
  }
  return variance;
}

void ParseBandit(const v1::ModelConfig& config, ModelSpec& spec, const FieldChecks& checks) {
  spec.bandit.observation_variance = Variance("reward_stddev", config.reward_stddev(), checks);
  spec.reward_stddev = std::sqrt(spec.bandit.observation_variance);
  spec.bandit.prior_variance = Variance("prior_stddev", config.prior_stddev(), checks);
  spec.bandit.exploration = ParseExploration(config.exploration(), checks.Inside("exploration"));
}

// Reports of a curved link are of a linear model of slope theta (Straighten); the configuration
// speaks of theta.
void ScaleByLink(ModelSpec& spec) {
  const double slope = LinkSlope(spec.public_spec.link, 0);
  spec.bandit.prior_variance *= slope * slope;
  spec.bandit.exploration.theta_l2_max *= slope;
}

// s2 = sigma_r^2 + v_r (noise-aware posterior). Only called without mistakes so far.
void AddRandomizerVariance(ModelSpec& spec, const FieldChecks& checks) {
  if (!HasRandomizer(spec.public_spec)) return;
  const auto randomizer = MakeRandomizer(spec.public_spec);
  if (!randomizer.ok()) {
    checks.Add("privacy", std::string(randomizer.status().message()));
    return;
  }
  spec.bandit.observation_variance += randomizer->VarianceMax();
}

// All reports of a model's life, far beyond any: their variances must stay inside double's and the
// posterior's range.
constexpr double kContextReportsMax = 0x1p40;
constexpr double kNoiseVarianceMax = 1e30;  // NoisyStatistics

// The bound on |theta| that noise in S is weighed by; whether it is one. Only called without
// mistakes so far.
bool ParseThetaMax(ModelSpec& spec, const FieldChecks& checks) {
  spec.theta_l2_max = spec.config.exploration().has_confidence()
                          ? spec.bandit.exploration.theta_l2_max
                          : std::sqrt(spec.bandit.dimension * spec.bandit.prior_variance);
  if (spec.theta_l2_max <= kScaleMax) return true;
  checks.Add("prior_stddev",
             absl::StrCat("must keep |theta| = sqrt(dimension) prior_stddev within ", kScaleMax,
                          ", got ", spec.theta_l2_max));
  return false;
}

// Contexts are private and seen by the server alone. Only called without mistakes so far.
void ParseJoint(ModelSpec& spec, const FieldChecks& checks) {
  if (spec.public_spec.mode != v1::JOINT) return;
  if (!spec.config.has_shared() && !spec.config.has_independent() && !spec.sparse) {
    checks.Add("coupling", "must be shared, independent or sparse for mode JOINT");
  }
  CheckHiddenFeatures(spec.public_spec, checks);
  ParseThetaMax(spec, checks);
}

// One counter over all users. Only called without mistakes so far.
void ParseShaped(const ModelSpec& spec, const FieldChecks& checks) {
  if (!IsShaped(spec.public_spec.mechanism)) return;
  const std::string name = v1::Mechanism_Name(spec.public_spec.mechanism);
  if (!spec.colin_or_goblin) {
    checks.Add("privacy.mechanism", absl::StrCat(name, " is for colin and goblin models"));
    return;
  }
  const int nodes = spec.coupling.nodes();
  if (nodes > kShapedNodesMax || nodes * spec.public_spec.dimension > kShapedRowsMax) {
    checks.Add("privacy.mechanism",
               absl::StrCat(name, " needs at most ", kShapedNodesMax,
                            " nodes and nodes x dimension <= ", kShapedRowsMax, ", got ", nodes,
                            " and ", nodes * spec.public_spec.dimension));
  }
  if (spec.bandit.exploration.kind != ExplorationRule::Kind::kConstant) {
    checks.Add("exploration", absl::StrCat("must be a constant alpha with ", name));
  }
}

// Arms have no features. Only called without mistakes so far.
void ParseArmsModel(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.arms) return;
  const PublicSpec& p = spec.public_spec;
  if (p.mode != v1::NON_PRIVATE && p.mode != v1::LOCAL_REWARD) {
    checks.Add("mode", "must be NON_PRIVATE or LOCAL_REWARD for models of arms");
  } else if (p.mode == v1::LOCAL_REWARD && p.mechanism != v1::REWARD_RANDOMIZER) {
    checks.Add("privacy.mechanism", "must be AUTO or REWARD_RANDOMIZER for models of arms");
  }
  if (p.feature_l2_max != 1) {
    checks.Add("feature_l2_max", "must be 1 for models of arms, which are unit vectors");
  }
}

// Only called without mistakes so far.
void ParseSparse(const ModelSpec& spec, const FieldChecks& checks) {
  const PublicSpec& p = spec.public_spec;
  if (!spec.sparse) {
    if (p.mechanism == v1::SPARSE_RELEASE) {
      checks.Add("privacy.mechanism", "SPARSE_RELEASE is for sparse models");
    }
    return;
  }
  if (p.mode != v1::JOINT) {
    checks.Add("mode", "must be JOINT for sparse models");
  } else if (p.mechanism != v1::SPARSE_RELEASE) {
    checks.Add("privacy.mechanism", "must be AUTO or SPARSE_RELEASE for sparse models");
  }
}

// Whether the algorithm runs with these parameters. Only called without mistakes so far.
void CheckSparseDesign(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.sparse) return;
  const auto fliphat = MakeFliphat(spec);
  if (!fliphat.ok()) checks.Add("sparse", std::string(fliphat.status().message()));
}

// Actions are points, without features. Only called without mistakes so far.
void ParsePoints(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.points) return;
  const PublicSpec& p = spec.public_spec;
  if (p.mode != v1::NON_PRIVATE && p.mode != v1::LOCAL_REWARD) {
    checks.Add("mode", "must be NON_PRIVATE or LOCAL_REWARD for models of points");
  } else if (p.mode == v1::LOCAL_REWARD && p.mechanism != v1::REWARD_RANDOMIZER) {
    checks.Add("privacy.mechanism", "must be AUTO or REWARD_RANDOMIZER for models of points");
  }
  if (!spec.arms_file.empty()) checks.Add("arms_file", "is refused for models of points");
  const absl::Status policy = MakePointsPolicy(spec).status();
  if (!policy.ok()) checks.Add("points", std::string(policy.message()));
}

// Contexts stay on the devices: nothing may name a user, and the posterior reads noisy S. Only
// called without mistakes so far.
void ParseContext(ModelSpec& spec, const FieldChecks& checks) {
  if (spec.public_spec.mode != v1::LOCAL_CONTEXT) return;
  const v1::ModelConfig& config = spec.config;
  if (!config.has_shared()) {
    checks.Add("coupling", "must be shared for mode LOCAL_CONTEXT: no report names its user");
  }
  if (!spec.arms_file.empty()) {
    checks.Add("arms_file", "is refused for mode LOCAL_CONTEXT: arms stay on the devices");
  }
  CheckHiddenFeatures(spec.public_spec, checks);
  if (!ParseThetaMax(spec, checks)) return;
  const auto mechanism = ContextMechanism::Create(spec.public_spec);
  if (!mechanism.ok()) {
    checks.Add("privacy", std::string(mechanism.status().message()));
    return;
  }
  spec.public_spec.context = mechanism->spec();
  const ReportVariance one = mechanism->variance();
  const double variance = one.moment + one.gram * spec.theta_l2_max * spec.theta_l2_max;
  if (!(one.gram * kContextReportsMax <= kNoiseVarianceMax &&
        variance * kContextReportsMax <= kNoiseVarianceMax)) {
    checks.Add("feature_l2_max",
               "and the reward range are too large for the noise of mode "
               "LOCAL_CONTEXT: rescale features and rewards");
  }
}

// Whether the counter's parameters have a design. Only called without mistakes so far.
void CheckCounterDesign(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.public_spec.counter) return;
  const auto design = MakeCounterDesign(spec);
  if (!design.ok()) checks.Add("privacy.counter", std::string(design.status().message()));
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

}  // namespace

std::optional<ModelSpec> ParseModelConfig(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors) {
  std::vector<ConfigError> found;
  const FieldChecks checks(found);
  const FileSource files{.folder = folder, .allowed = allow_files};
  ModelSpec spec;
  spec.config = config;
  ParseShape(config, spec, checks);
  ParseCoupling(config, files, spec, checks);
  ParseBandit(config, spec, checks);
  ParsePrivacy(config, spec, checks);
  spec.public_spec.link = CheckLink(config.link(), spec.public_spec, checks);
  ScaleByLink(spec);
  ParseTiming(config, spec, checks);
  ParseArms(config, files, spec, checks);
  if (found.empty()) AddRandomizerVariance(spec, checks);
  if (found.empty()) ParseShaped(spec, checks);
  if (found.empty()) ParseArmsModel(spec, checks);
  if (found.empty()) ParseSparse(spec, checks);
  if (found.empty()) ParsePoints(spec, checks);
  if (found.empty()) ParseJoint(spec, checks);
  if (found.empty()) CheckSparseDesign(spec, checks);
  if (found.empty()) CheckCounterDesign(spec, checks);
  if (found.empty()) ParseContext(spec, checks);
  if (found.empty()) {
    auto made = MakeMechanism(spec);
    if (made.ok()) {
      spec.public_spec.made = *std::move(made);
      return spec;
    }
    checks.Add("privacy", std::string(made.status().message()));
  }
  errors.insert(errors.end(), found.begin(), found.end());
  return std::nullopt;
}

}  // namespace bandana
