#include "common/design/counter_options.h"

#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

std::string CounterIdentity(const PublicSpec& spec, const CounterDesign& design) {
  return absl::StrCat(v1::CounterKind_Name(spec.counter->kind), " ", ToHex(design.digest()));
}

std::string DescribeCounter(const PublicSpec& spec, const CounterDesign& design,
                            std::string_view scope, std::string_view entry) {
  const std::uint64_t horizon = spec.counter->horizon;
  return absl::StrFormat(
      "%s, %s %s, tuned to %d steps, at most %d, noise sd %.3g in each %s at step %d",
      v1::Mechanism_Name(spec.mechanism), v1::CounterKind_Name(spec.counter->kind), scope, horizon,
      spec.counter->steps_max, std::sqrt(design.PredictedVariance(horizon)), entry, horizon);
}

}  // namespace bandana
