#include "common/design/counter_policy.h"

#include "common/base/status.h"
#include "common/design/counter_options.h"
#include "common/design/privacy_rules.h"

namespace bandana {

double RewardCentre(const PublicSpec& spec) { return spec.reward_range.middle(); }

absl::StatusOr<CounterDesign> MakeCounterDesign(const PublicSpec& spec) {
  if (spec.mode == v1::JOINT) {
    BANDANA_ASSIGN_OR_RETURN(const JointCounter counter, MakeJointCounter(spec));
    return counter.design();
  }
  if (!spec.counter || spec.mechanism != v1::COUNTER) {
    return InvalidArgument("model ", spec.name, " has no counter: its mechanism is ",
                           v1::Mechanism_Name(spec.mechanism));
  }
  return RewardCounterDesign(spec, static_cast<std::size_t>(spec.dimension));
}

absl::StatusOr<CounterDesign> MakeCounterDesign(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  if (!p.counter || !IsShaped(p.mechanism)) return MakeCounterDesign(p);
  return RewardCounterDesign(p, static_cast<std::size_t>(p.dimension) * spec.coupling.nodes());
}

absl::StatusOr<JointCounter> MakeJointCounter(const PublicSpec& spec) {
  if (!spec.counter || spec.mode != v1::JOINT || spec.mechanism != v1::COUNTER) {
    return InvalidArgument("model ", spec.name, " has no joint counter: its mode is ",
                           v1::Mode_Name(spec.mode), ", its mechanism ",
                           v1::Mechanism_Name(spec.mechanism));
  }
  if (spec.counter->kind != v1::EPOCHS && spec.counter->kind != v1::BLT) {
    return InvalidArgument("kind must be EPOCHS or BLT in mode JOINT, got ",
                           v1::CounterKind_Name(spec.counter->kind));
  }
  return JointCounter::Create({.dimension = spec.dimension,
                               .context_l2_max = spec.feature_l2_max,
                               .reward_abs_max = RewardAbsMax(spec),
                               .epsilon = spec.epsilon,
                               .delta = spec.delta,
                               .kind = FromProto(spec.counter->kind),
                               .horizon = spec.counter->horizon,
                               .step_cap = spec.counter->steps_max});
}

double RewardAbsMax(const PublicSpec& spec) { return spec.reward_range.abs_max(); }

}  // namespace bandana
