#include "common/design/counter_policy.h"

#include <algorithm>
#include <cmath>

#include "common/accounting/zcdp.h"
#include "common/base/status.h"
#include "common/design/privacy_rules.h"

namespace bandana {
namespace {

CounterKind KindOf(v1::CounterKind kind) {
  switch (kind) {
    case v1::TREE:
      return CounterKind::kTree;
    case v1::HONAKER:
      return CounterKind::kHonaker;
    case v1::EPOCHS:
      return CounterKind::kEpochs;
    default:
      return CounterKind::kBlt;
  }
}

// The trees have no steps past their horizon: theirs is the hard cap.
std::uint64_t HorizonOf(const CounterSpec& counter) {
  const bool tree = counter.kind == v1::TREE || counter.kind == v1::HONAKER;
  return tree ? counter.steps_max : counter.horizon;
}

// One stream of `dimension` coordinates, |increment| <= L B / 2.
absl::StatusOr<CounterDesign> DesignOf(const PublicSpec& spec, std::size_t dimension) {
  BANDANA_ASSIGN_OR_RETURN(const Rho rho, CalibrateZcdp(spec.epsilon, spec.delta));
  return CounterDesign::Create({.kind = KindOf(spec.counter->kind),
                                .dimension = dimension,
                                .norm_bound = spec.feature_l2_max * spec.reward_range.width() / 2,
                                .rho = rho,
                                .horizon = HorizonOf(*spec.counter),
                                .step_cap = spec.counter->steps_max});
}

}  // namespace

double RewardCentre(const PublicSpec& spec) {
  return spec.reward_range.min + spec.reward_range.width() / 2;
}

absl::StatusOr<CounterDesign> MakeCounterDesign(const PublicSpec& spec) {
  if (spec.mode == v1::JOINT) {
    BANDANA_ASSIGN_OR_RETURN(const JointCounter counter, MakeJointCounter(spec));
    return counter.design();
  }
  if (!spec.counter || spec.mechanism != v1::COUNTER) {
    return InvalidArgument("model ", spec.name, " has no counter: its mechanism is ",
                           v1::Mechanism_Name(spec.mechanism));
  }
  return DesignOf(spec, static_cast<std::size_t>(spec.dimension));
}

absl::StatusOr<CounterDesign> MakeCounterDesign(const ModelSpec& spec) {
  const PublicSpec& p = spec.public_spec;
  if (!p.counter || !IsShaped(p.mechanism)) return MakeCounterDesign(p);
  return DesignOf(p, static_cast<std::size_t>(p.dimension) * spec.coupling.nodes());
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
                               .kind = KindOf(spec.counter->kind),
                               .horizon = spec.counter->horizon,
                               .step_cap = spec.counter->steps_max});
}

double RewardAbsMax(const PublicSpec& spec) {
  return std::max(std::abs(spec.reward_range.min), std::abs(spec.reward_range.max));
}

}  // namespace bandana
