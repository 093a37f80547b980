// Events of models whose server may see rewards: nothing is drawn on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/core/accounted_events.h"

namespace bandana::device {

// Privacy:  none against the server. Of a private model with a reward window every decision is
//           reported at its due time with a reward inside the range, the default where none came.
// An event costs the device no privacy: the server adds the noise. Where a bound is set it is
// counted.
class RawReports final : public AccountedEvents {
 public:
  // `clips`: private models, where a missing reward leaves as the default, so that reports differ
  // in its bytes alone. Others: rewards go as they are, missing stays missing.
  RawReports(bool clips, EventOptions options)
      : AccountedEvents(std::move(options), 0), clips_(clips) {}

  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  absl::Status Debit(Transaction& transaction, const std::string& user, int events) const override;
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  const bool clips_;
};

}  // namespace bandana::device
