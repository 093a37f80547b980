#include "client/src/privacy/privatizer.h"

#include "client/src/privacy/wire_reports.h"
#include "client/src/store/handle.h"
#include "common/base/status.h"
#include "common/mechanisms/centred_window.h"

namespace bandana::device {

// PROOF: centred_randomizer begin
bool Privatizer::UsesWindow(const std::optional<RewardRange>& window) const {
  return options_.centred && window && IsWindowOf(options_.randomizer.range(), *window);
}

SecretBytes Privatizer::Hold(std::optional<double> reward,
                             const std::optional<RewardRange>& window) const {
  const ClippedReward clipped =
      options_.randomizer.ClipTo(UsesWindow(window) ? *window : options_.randomizer.range(),
                                 RawReward(reward), options_.default_reward);
  std::string bytes;
  PutNumber(bytes, clipped.step_);
  return SecretBytes(std::move(bytes));
}
// PROOF: centred_randomizer end

absl::Status Privatizer::Debit(Store::Transaction& transaction, const std::string& user) const {
  return transaction.ledger.DebitOne(transaction.tables, AccountOf(user));
}

absl::StatusOr<device::Release> Privatizer::Release(Store::Transaction& transaction, ReportRow& row,
                                                    const SecretBytes& held,
                                                    const Draw& draw) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  Reader reader{held.get()};
  const std::uint64_t step = reader.Number();
  if (!reader.ok || step > RewardRandomizer::kInputSteps) {
    return Internal("a held reward is not one of the input grid");
  }
  if (draw.payment == Payment::kBlock) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  BANDANA_ASSIGN_OR_RETURN(const PerturbedReward output,
                           options_.randomizer.Randomize(
                               ClippedReward(static_cast<std::uint32_t>(step)), *options_.bits));
  const bool whole_range = options_.centred && !UsesWindow(WindowOf(row.opening.window, 0));
  row.report = PerturbedReportBytes(row.token, row.opening.shown, output, whole_range);
  FinishRow(transaction.tables, row, draw.forget_at);
  return device::Release::kDone;
}

}  // namespace bandana::device
