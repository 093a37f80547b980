#include "client/core/context_privatizer.h"

#include <array>
#include <utility>
#include <variant>

#include "client/core/features.h"
#include "client/core/report_bytes.h"
#include "client/core/secret_bytes.h"
#include "common/base/status.h"

namespace bandana::device {

absl::StatusOr<std::unique_ptr<EventMechanism>> ContextPrivatizer::Create(Options mechanism,
                                                                          EventOptions options) {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t cost, LedgerCost(*mechanism.mechanism->cost()));
  return std::unique_ptr<EventMechanism>(
      new ContextPrivatizer(std::move(mechanism), std::move(options), cost));
}

// PROOF: context_release begin
SecretBytes ContextPrivatizer::Hold(std::optional<double> reward,
                                    const std::optional<RewardRange>&) const {
  return HeldReward::Clip(reward, options_.range, options_.default_reward).Pack();
}

absl::StatusOr<std::string> ContextPrivatizer::DrawReport(const ReportRow& row,
                                                          double reward) const {
  std::array<std::byte, 16> id{};
  BANDANA_RETURN_IF_ERROR(options_.bits->Fill(id));
  const ContextReports& contexts = *contexts_.mechanism->contexts();
  const ClippedStatistics phi =
      contexts.statistic().Clip(RawInteraction(FeaturesOfRank(row.features, 0, contexts_.dimension),
                                               StraightReward(contexts_.link, reward)));
  BANDANA_ASSIGN_OR_RETURN(const PerturbedContext drawn, contexts.Draw(phi, *options_.bits));
  return std::visit(
      [&](const auto& output) { return ContextReportBytes(id, row.opening.epoch, output); }, drawn);
}

absl::StatusOr<device::Release> ContextPrivatizer::Release(Transaction& transaction, ReportRow& row,
                                                           const SecretBytes& held,
                                                           const Draw& draw) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  const auto reward = HeldReward::Unpack(held.get());
  if (!reward) return Internal("a held reward has a wrong length");
  if (draw.payment == Payment::kBlock) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  BANDANA_ASSIGN_OR_RETURN(row.report, DrawReport(row, reward->value_));
  Erase(row.features);
  FinishRow(transaction.tables, row, draw.forget_at);
  return device::Release::kDone;
}
// PROOF: context_release end

}  // namespace bandana::device
