#include "client/core/release.h"

#include "client/core/features.h"
#include "common/accounting/composition.h"
#include "common/base/status.h"

namespace bandana::device {

absl::StatusOr<std::uint64_t> LedgerCost(const PrivacyCost& cost) {
  BANDANA_ASSIGN_OR_RETURN(const PrivacyTotals one, Compose(PrivacyTotals(), cost));
  return cost.pure ? one.pure : one.rho;
}

std::optional<Release> ReleasedBefore(Tables& tables, DecisionNumber number) {
  switch (tables.DrawnState(number)) {
    case Drawn::kYes:
      return Release::kAlreadyDrawn;
    case Drawn::kForgotten:
      return Release::kTooLate;
    case Drawn::kNo:
      break;
  }
  return std::nullopt;
}

void ShowArm(int shown, int ranks, int dimension, ReportRow& row) {
  row.opening.shown = row.token.empty() ? 0 : shown;
  if (row.features.empty()) return;
  row.features = PackedArm(row.features, shown, ranks, static_cast<std::size_t>(dimension));
}

void FinishRow(Tables& tables, ReportRow& row, absl::Time forget_at) {
  row.token.clear();
  row.opening = {};
  tables.MarkDrawn(row.number, forget_at);
  tables.reports().Put(row);
}

}  // namespace bandana::device
