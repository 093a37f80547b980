// Events of models whose server may see rewards: nothing is drawn on the device.
#pragma once

#include "client/src/privacy/event_mechanism.h"

namespace bandana::device {

// Privacy:  none against the server. Of a private model with a reward window every decision is
//           reported at its due time with a reward inside the range, the default where none came.
class RawReports final : public EventMechanism {
 public:
  struct Options {
    // Private models: a missing reward leaves as the default, so that reports differ in its bytes
    // alone. Others: rewards go as they are, missing stays missing.
    bool clips = false;
    RewardRange range;
    double default_reward = 0;
    EventTraits traits;
  };
  explicit RawReports(const Options& options) : options_(options) {}

  const EventTraits& traits() const override { return options_.traits; }
  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  absl::Status Debit(Store::Transaction&, const std::string&, int) const override {
    return absl::OkStatus();
  }
  absl::Status MayDebit(Store::Transaction&, const std::string&, int) const override {
    return absl::OkStatus();
  }
  absl::StatusOr<device::Release> Release(Store::Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  const Options options_;
};

}  // namespace bandana::device
