#include "client/src/privatizer.h"

#include "client/src/wire_reports.h"
#include "common/base/status.h"

namespace bandana::device {

absl::Status Privatizer::Debit(Store::Transaction& transaction, const std::string& user) const {
  return transaction.ledger.DebitOne(transaction.tables, AccountOf(user));
}

absl::StatusOr<device::Release> Privatizer::Release(Store::Transaction& transaction, ReportRow& row,
                                                    int shown, const ClippedReward& reward,
                                                    Payment payment, absl::Time forget_at) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  if (payment == Payment::kBlock) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  BANDANA_ASSIGN_OR_RETURN(const PerturbedReward output,
                           options_.randomizer.Randomize(reward, *options_.bits));
  row.report = PerturbedReportBytes(row.token, shown, output);
  row.token.clear();
  transaction.tables.MarkDrawn(row.number, forget_at);
  transaction.tables.PutReport(row);
  return device::Release::kDone;
}

}  // namespace bandana::device
