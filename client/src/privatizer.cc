#include "client/src/privatizer.h"

#include "client/src/wire_reports.h"
#include "common/base/status.h"
#include "common/mechanisms/centred_window.h"

namespace bandana::device {

// PROOF: centred_randomizer begin
Clipped Privatizer::Clip(std::optional<double> reward,
                         const std::optional<RewardRange>& window) const {
  const RewardRange& range = options_.randomizer.range();
  const bool centred = options_.centred && window && IsWindowOf(range, *window);
  return {options_.randomizer.ClipTo(centred ? *window : range, RawReward(reward),
                                     options_.default_reward),
          options_.centred && !centred};
}
// PROOF: centred_randomizer end

absl::Status Privatizer::Debit(Store::Transaction& transaction, const std::string& user) const {
  return transaction.ledger.DebitOne(transaction.tables, AccountOf(user));
}

absl::StatusOr<device::Release> Privatizer::Release(Store::Transaction& transaction, ReportRow& row,
                                                    int shown, const Clipped& reward,
                                                    Payment payment, absl::Time forget_at) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  if (payment == Payment::kBlock) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  BANDANA_ASSIGN_OR_RETURN(const PerturbedReward output,
                           options_.randomizer.Randomize(reward.reward, *options_.bits));
  row.report = PerturbedReportBytes(row.token, shown, output, reward.whole_range);
  row.token.clear();
  transaction.tables.MarkDrawn(row.number, forget_at);
  transaction.tables.PutReport(row);
  return device::Release::kDone;
}

}  // namespace bandana::device
