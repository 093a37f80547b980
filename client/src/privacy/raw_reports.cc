#include "client/src/privacy/raw_reports.h"

#include <bit>
#include <cmath>
#include <limits>

#include "client/src/privacy/counter_stream.h"
#include "client/src/privacy/wire_reports.h"
#include "common/base/status.h"

namespace bandana::device {

SecretBytes RawReports::Hold(std::optional<double> reward,
                             const std::optional<RewardRange>&) const {
  if (options_.clips) {
    return HeldReward::Clip(reward, options_.range, options_.default_reward).Pack();
  }
  std::string bytes;
  PutNumber(bytes, std::bit_cast<std::uint64_t>(
                       reward.value_or(std::numeric_limits<double>::quiet_NaN())));
  return SecretBytes(std::move(bytes));
}

absl::StatusOr<device::Release> RawReports::Release(Store::Transaction& transaction, ReportRow& row,
                                                    const SecretBytes& held,
                                                    const Draw& draw) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  Reader reader{held.get()};
  const double reward = std::bit_cast<double>(reader.Number());
  if (!reader.ok) return Internal("a held reward has a wrong length");
  row.report = OutcomeBytes(row.token, row.opening.shown,
                            std::isnan(reward) ? std::nullopt : std::optional(reward));
  FinishRow(transaction.tables, row, draw.forget_at);
  return device::Release::kDone;
}

}  // namespace bandana::device
