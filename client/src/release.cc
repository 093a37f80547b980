#include "client/src/release.h"

#include "client/src/wire_reports.h"

namespace bandana::device {

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

Release ReleaseRaw(Store::Transaction& transaction, ReportRow& row, int shown,
                   std::optional<double> reward, absl::Time forget_at) {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  row.report = OutcomeBytes(row.token, shown, reward);
  row.token.clear();
  transaction.tables.MarkDrawn(row.number, forget_at);
  transaction.tables.PutReport(row);
  return Release::kDone;
}

int ShowArm(int shown, int dimension, ReportRow& row) {
  if (row.features.empty()) return shown;
  const std::size_t bytes = dimension * sizeof(double);
  row.features = row.features.substr(shown * bytes, bytes);
  return 0;
}

}  // namespace bandana::device
