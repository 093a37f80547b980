#include "common/design/planner/reward_choice.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/privacy_config.h"
#include "common/design/server_mechanism_table.h"
#include "common/design/wire_messages.h"
#include "common/promise/model_rules.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

// Whether a server runs it for this model.
bool IsServed(const ModelSpec& spec, const PlanCandidate& candidate) {
  std::vector<ConfigError> errors;
  ServerRowOf(candidate.mechanism, spec.public_spec.mode).check(spec, FieldChecks(errors));
  return errors.empty() && NumberOf(candidate.counter) != 0;
}

// Whether it forgets where the model is to.
bool MayForget(const ModelSpec& spec, const PlanCandidate& candidate) {
  return spec.half_life == absl::ZeroDuration() ||
         ServerRowOf(candidate.mechanism, spec.public_spec.mode).keeps.empty();
}

// Leaves what a server runs to choose from.
void ExcludeUnserved(const ModelSpec& spec, Plan& plan) {
  for (PlanCandidate& candidate : plan.candidates) {
    if (!candidate.excluded.empty()) continue;
    if (!IsServed(spec, candidate)) {
      candidate.excluded = "not run by servers and devices, or not for models of this size";
    } else if (!MayForget(spec, candidate)) {
      candidate.excluded = "cannot forget: half_life";
    }
  }
  std::stable_partition(plan.candidates.begin(), plan.candidates.end(),
                        [](const PlanCandidate& c) { return c.excluded.empty(); });
}

// Names the choice in the configuration.
v1::Privacy Named(const PlanCandidate& choice, std::uint64_t planned, v1::Privacy privacy) {
  if (choice.pure) {
    privacy.set_mechanism(ToProto(choice.mechanism));
    privacy.clear_counter();
    return privacy;
  }
  NameCounter(choice.mechanism, choice.counter,
              std::min(static_cast<std::uint64_t>(choice.users) * planned, kCounterStepsMax),
              privacy);
  return privacy;
}

}  // namespace

PlanRequest RewardPlanRequest(const PublicSpec& policy, const v1::ModelConfig& config) {
  return {.mode = policy.mode,
          .dimension = policy.dimension,
          .feature_l2_max = policy.feature_l2_max,
          .rewards = policy.reward_range,
          .rewards_binary = policy.reward_binary,
          .reward_stddev = RewardStddev(config),
          .prior_stddev = PriorStddev(config),
          .events_per_node = PlannedEvents(config.privacy()),
          .epsilon = policy.epsilon,
          .delta = Delta{config.privacy().delta()}};
}

PlanRequest RewardPlanRequest(const ModelSpec& spec) {
  PlanRequest request = RewardPlanRequest(spec.public_spec, spec.config);
  request.coupling = spec.coupling;
  return request;
}

absl::StatusOr<PlannedMechanism> ChooseForRewards(const ModelSpec& spec) {
  const PlanRequest request = RewardPlanRequest(spec);
  BANDANA_ASSIGN_OR_RETURN(Plan plan, MakePlan(request));
  ExcludeUnserved(spec, plan);
  const PlanCandidate& choice = plan.best();
  if (!choice.excluded.empty()) return InvalidArgument("no mechanism fits; name one");
  return PlannedMechanism{.privacy = Named(choice, request.events_per_node, spec.config.privacy()),
                          .text = absl::StrCat("AUTO: ", choice.name, "\n", ExplainPlan(plan))};
}

absl::StatusOr<std::string> ExplainRewards(const PublicSpec& policy,
                                           const v1::ModelConfig& config) {
  BANDANA_ASSIGN_OR_RETURN(const Plan plan, MakePlan(RewardPlanRequest(policy, config)));
  return absl::StrCat("planned, users taken as independent:\n", ExplainPlan(plan));
}

void NameCounter(MechanismId mechanism, CounterKind kind, std::uint64_t planned,
                 v1::Privacy& privacy) {
  privacy.set_mechanism(ToProto(mechanism));
  v1::CounterPolicy& counter = *privacy.mutable_counter();
  if (counter.kind() == v1::COUNTER_KIND_UNSPECIFIED) counter.set_kind(ToProto(kind));
  if (counter.horizon() == 0) counter.set_horizon(planned);
  if (counter.steps_max() == 0) {
    counter.set_steps_max(std::min(2 * std::max(planned, counter.horizon()), kCounterStepsMax));
  }
}

}  // namespace bandana
