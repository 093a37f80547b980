#include "client/core/privatizer.h"

#include <utility>

#include "client/core/handle.h"
#include "client/core/report_bytes.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {

absl::StatusOr<std::unique_ptr<EventMechanism>> Privatizer::Create(Options mechanism,
                                                                   EventOptions options) {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t cost, LedgerCost(mechanism.cost));
  return std::unique_ptr<EventMechanism>(
      new Privatizer(std::move(mechanism.rewards), std::move(options), cost));
}

// PROOF: centred_randomizer begin
SecretBytes Privatizer::Hold(std::optional<double> reward,
                             const std::optional<RewardRange>& window) const {
  const ClippedReward clipped = rewards().Clip(RawReward(reward), options_.default_reward, window);
  std::string bytes;
  ByteWriter(bytes).U64(clipped.step_);
  return SecretBytes(std::move(bytes));
}
// PROOF: centred_randomizer end

absl::StatusOr<device::Release> Privatizer::Release(Transaction& transaction, ReportRow& row,
                                                    const SecretBytes& held,
                                                    const Draw& draw) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  ByteReader reader(held.get());
  const std::uint64_t step = reader.U64();
  if (!reader.ok() || step > kRewardSteps) {
    return Internal("a held reward is not one of the input grid");
  }
  if (draw.payment == Payment::kBlock) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  BANDANA_ASSIGN_OR_RETURN(
      const PerturbedReward output,
      rewards().Draw(ClippedReward(static_cast<std::uint32_t>(step)), *options_.bits));
  const bool whole_range = rewards().IsWholeRange(WindowOf(row.opening.window, 0));
  row.report = PerturbedReportBytes(row.token, row.opening.shown, output, whole_range);
  FinishRow(transaction.tables, row, draw.forget_at);
  return device::Release::kDone;
}

}  // namespace bandana::device
