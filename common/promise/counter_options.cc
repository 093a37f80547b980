#include "common/promise/counter_options.h"

#include <array>
#include <utility>

#include "common/accounting/zcdp.h"
#include "common/base/status.h"

namespace bandana {
namespace {

struct KindRow {
  CounterKind kind;
  v1::CounterKind proto;
  bool whole_cap;  // the trees have no steps past their horizon: theirs is the hard cap
};
constexpr std::array kKinds = {KindRow{CounterKind::kBlt, v1::BLT, false},
                               KindRow{CounterKind::kTree, v1::TREE, true},
                               KindRow{CounterKind::kHonaker, v1::HONAKER, true},
                               KindRow{CounterKind::kEpochs, v1::EPOCHS, false}};

const KindRow& RowOf(v1::CounterKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.proto == kind) return row;
  }
  return kKinds.front();
}

}  // namespace

v1::CounterKind ToProto(CounterKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.proto;
  }
  return v1::COUNTER_KIND_UNSPECIFIED;
}

CounterKind FromProto(v1::CounterKind kind) { return RowOf(kind).kind; }

absl::StatusOr<CounterDesign> RewardCounterDesign(const PublicSpec& spec, std::size_t dimension) {
  BANDANA_ASSIGN_OR_RETURN(const Rho rho, CalibrateZcdp(spec.epsilon, spec.delta));
  const KindRow& row = RowOf(spec.counter->kind);
  const std::uint64_t cap = spec.counter->steps_max;
  return CounterDesign::Create({.kind = row.kind,
                                .dimension = dimension,
                                .norm_bound = spec.feature_l2_max * spec.reward_range.width() / 2,
                                .rho = rho,
                                .horizon = row.whole_cap ? cap : spec.counter->horizon,
                                .step_cap = cap});
}

}  // namespace bandana
