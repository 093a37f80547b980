#include "common/promise/counter_options.h"

#include "common/accounting/zcdp.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The trees have no steps past their horizon: theirs is the hard cap.
bool IsTree(CounterKind kind) {
  return kind == CounterKind::kTree || kind == CounterKind::kHonaker;
}

}  // namespace

absl::StatusOr<CounterDesign> RewardCounterDesign(const PublicSpec& spec, std::size_t dimension) {
  BANDANA_ASSIGN_OR_RETURN(const Rho rho, CalibrateZcdp(spec.epsilon, spec.delta));
  const std::uint64_t cap = spec.counter->steps_max;
  return CounterDesign::Create({.kind = spec.counter->kind,
                                .dimension = dimension,
                                .norm_bound = spec.feature_l2_max * spec.reward_range.width() / 2,
                                .rho = rho,
                                .horizon = IsTree(spec.counter->kind) ? cap : spec.counter->horizon,
                                .step_cap = cap});
}

}  // namespace bandana
