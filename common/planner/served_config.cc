#include "common/planner/served_config.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/counter_policy.h"
#include "common/design/privacy_rules.h"
#include "common/planner/context_request.h"
#include "common/planner/joint_plan.h"
#include "common/planner/planner.h"

namespace bandana {
namespace {

PlanRequest RequestOf(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  const v1::Privacy& privacy = spec.config.privacy();
  PlanRequest request;
  request.scope =
      p.mode == v1::CENTRAL_REWARD ? PlanRequest::Scope::kCentral : PlanRequest::Scope::kLocal;
  request.dimension = p.dimension;
  request.feature_l2_max = p.feature_l2_max;
  request.rewards = p.reward_range;
  request.rewards_binary = p.reward_binary;
  request.reward_stddev = spec.config.reward_stddev() == 0 ? 1 : spec.config.reward_stddev();
  request.prior_stddev = spec.config.prior_stddev() == 0 ? 1 : spec.config.prior_stddev();
  if (spec.colin_or_goblin) request.coupling = spec.coupling;
  const std::uint64_t planned = privacy.planned_events_per_user();
  request.events_per_node = planned == 0 ? kPlannedEventsDefault : planned;
  request.epsilon = p.epsilon;
  request.delta = Delta{privacy.delta()};
  return request;
}

v1::CounterKind KindOf(CounterKind kind) {
  switch (kind) {
    case CounterKind::kBlt:
      return v1::BLT;
    case CounterKind::kTree:
      return v1::TREE;
    case CounterKind::kHonaker:
      return v1::HONAKER;
    case CounterKind::kEpochs:
      return v1::EPOCHS;
    default:
      return v1::COUNTER_KIND_UNSPECIFIED;
  }
}

bool FitsShaped(const ModelSpec& spec) {
  const int nodes = spec.coupling.nodes();
  return nodes <= kShapedNodesMax && nodes * spec.public_spec.dimension <= kShapedRowsMax &&
         spec.bandit.exploration.kind == ExplorationRule::Kind::kConstant;
}

bool IsServed(const ModelSpec& spec, const PlanCandidate& candidate) {
  if (candidate.kind == PlanCandidate::Kind::kShaped) return FitsShaped(spec);
  if (candidate.kind == PlanCandidate::Kind::kRandomizer ||
      candidate.kind == PlanCandidate::Kind::kCentred) {
    return true;
  }
  return candidate.kind == PlanCandidate::Kind::kCounter &&
         KindOf(candidate.counter) != v1::COUNTER_KIND_UNSPECIFIED;
}

// Room for twice the planned events costs little: S^2 grows with the logarithm of the cap.
void NameCounter(v1::Mechanism mechanism, v1::CounterKind kind, std::uint64_t planned,
                 v1::Privacy& privacy) {
  privacy.set_mechanism(mechanism);
  v1::CounterPolicy& counter = *privacy.mutable_counter();
  if (counter.kind() == v1::COUNTER_KIND_UNSPECIFIED) counter.set_kind(kind);
  if (counter.horizon() == 0) counter.set_horizon(planned);
  if (counter.steps_max() == 0) {
    counter.set_steps_max(std::min(2 * std::max(planned, counter.horizon()), kCounterStepsMax));
  }
}

std::optional<ModelSpec> PlanContexts(const ModelSpec& spec, std::string_view folder,
                                      bool allow_files, std::vector<ConfigError>& errors) {
  const auto plan = MakeContextPlan(ContextRequestOf(spec));
  if (!plan.ok()) {
    errors.push_back({"privacy.mechanism", "AUTO: " + std::string(plan.status().message())});
    return std::nullopt;
  }
  v1::ModelConfig named = spec.config;
  named.mutable_privacy()->set_mechanism(
      plan->best().kind == ContextMechanismKind::kGaussian ? v1::JOINT_GAUSSIAN : v1::PRIVUNIT);
  std::optional<ModelSpec> chosen = ParseModelConfig(named, folder, allow_files, errors);
  if (chosen) {
    chosen->plan = absl::StrCat("AUTO: ", ToAbsl(ContextMechanismName(plan->best().kind)), "\n",
                                ExplainContextPlan(*plan));
  }
  return chosen;
}

std::optional<ModelSpec> PlanJointCounter(const ModelSpec& spec, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors) {
  v1::ModelConfig named = spec.config;
  v1::Privacy& privacy = *named.mutable_privacy();
  const std::uint64_t planned = privacy.planned_events_per_user() == 0
                                    ? kPlannedEventsDefault
                                    : privacy.planned_events_per_user();
  const auto plan = PlanJoint(spec, planned);
  if (!plan.ok()) {
    errors.push_back({"privacy.mechanism", "AUTO: " + std::string(plan.status().message())});
    return std::nullopt;
  }
  NameCounter(v1::COUNTER, plan->kind, planned, privacy);
  std::optional<ModelSpec> chosen = ParseModelConfig(named, folder, allow_files, errors);
  if (chosen) chosen->plan = plan->text;
  return chosen;
}

// Leaves what a server runs to choose from.
void ExcludeUnserved(const ModelSpec& spec, Plan& plan) {
  for (PlanCandidate& candidate : plan.candidates) {
    if (candidate.excluded.empty() && !IsServed(spec, candidate)) {
      candidate.excluded = "not run by servers and devices, or not for models of this size";
    }
  }
  std::stable_partition(plan.candidates.begin(), plan.candidates.end(),
                        [](const PlanCandidate& c) { return c.excluded.empty(); });
}

// Names the choice in the configuration. A counter over all users takes their events together.
void Name(const ModelSpec& spec, const PlanCandidate& choice, std::uint64_t planned,
          v1::Privacy& privacy) {
  if (choice.pure) {
    privacy.set_mechanism(choice.kind == PlanCandidate::Kind::kCentred ? v1::CENTRED_RANDOMIZER
                                                                       : v1::REWARD_RANDOMIZER);
    privacy.clear_counter();
    return;
  }
  const bool shaped = choice.kind == PlanCandidate::Kind::kShaped;
  const auto users = static_cast<std::uint64_t>(shaped ? spec.coupling.nodes() : 1);
  NameCounter(shaped ? v1::SHAPED_COUNTER : v1::COUNTER, KindOf(choice.counter),
              std::min(users * planned, kCounterStepsMax), privacy);
}

}  // namespace

std::optional<ModelSpec> ParseServedModel(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors) {
  std::optional<ModelSpec> spec = ParseModelConfig(config, folder, allow_files, errors);
  const v1::Privacy& privacy = config.privacy();
  const bool automatic =
      privacy.mechanism() == v1::AUTO || privacy.mechanism() == v1::MECHANISM_UNSPECIFIED;
  if (!spec || spec->public_spec.mode == v1::NON_PRIVATE || !automatic) return spec;
  if (spec->arms || spec->points || spec->sparse) return spec;  // one mechanism is for them
  if (spec->public_spec.mode == v1::LOCAL_CONTEXT) {
    return PlanContexts(*spec, folder, allow_files, errors);
  }
  if (spec->public_spec.mode == v1::JOINT) {
    return PlanJointCounter(*spec, folder, allow_files, errors);
  }
  const PlanRequest request = RequestOf(*spec);
  absl::StatusOr<Plan> plan = MakePlan(request);
  if (!plan.ok()) {
    errors.push_back({"privacy.mechanism", "AUTO: " + std::string(plan.status().message())});
    return std::nullopt;
  }
  ExcludeUnserved(*spec, *plan);
  const PlanCandidate& choice = plan->best();
  if (!choice.excluded.empty()) {
    errors.push_back({"privacy.mechanism", "AUTO: no mechanism fits; name one"});
    return std::nullopt;
  }
  v1::ModelConfig named = config;
  Name(*spec, choice, request.events_per_node, *named.mutable_privacy());
  std::optional<ModelSpec> chosen = ParseModelConfig(named, folder, allow_files, errors);
  if (chosen) chosen->plan = "AUTO: " + choice.name + "\n" + ExplainPlan(*plan);
  return chosen;
}

}  // namespace bandana
