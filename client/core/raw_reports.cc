#include "client/core/raw_reports.h"

#include <cmath>
#include <limits>

#include "client/core/held_reward.h"
#include "client/core/report_bytes.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {

SecretBytes RawReports::Hold(std::optional<double> reward,
                             const std::optional<RewardRange>&) const {
  if (clips_) {
    return HeldReward::Clip(reward, options_.range, options_.default_reward).Pack();
  }
  std::string bytes;
  ByteWriter(bytes).F64(reward.value_or(std::numeric_limits<double>::quiet_NaN()));
  return SecretBytes(std::move(bytes));
}

absl::Status RawReports::Debit(Transaction& transaction, const std::string& user,
                               int events) const {
  if (options_.events_max == 0) return absl::OkStatus();
  return AccountedEvents::Debit(transaction, user, events);
}

absl::StatusOr<device::Release> RawReports::Release(Transaction& transaction, ReportRow& row,
                                                    const SecretBytes& held,
                                                    const Draw& draw) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  ByteReader reader(held.get());
  const double reward = reader.F64();
  if (!reader.ok()) return Internal("a held reward has a wrong length");
  if (draw.payment == Payment::kBlock && options_.events_max > 0) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  row.report = OutcomeBytes(row.token, row.opening.shown,
                            std::isnan(reward) ? std::nullopt : std::optional(reward));
  FinishRow(transaction.tables, row, draw.forget_at);
  return device::Release::kDone;
}

}  // namespace bandana::device
