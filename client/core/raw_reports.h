// Events of models whose server may see rewards: nothing is drawn on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/core/event_mechanism.h"
#include "client/core/ledger.h"

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
    std::string model;
    PolicyId policy = 0;
    std::uint64_t events_max = 0;  // of one user, 0 = no bound, and nothing is counted
    EventTraits traits;
  };
  explicit RawReports(const Options& options) : options_(options) {}

  const EventTraits& traits() const override { return options_.traits; }
  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  absl::Status Debit(Transaction& transaction, const std::string& user, int events) const override;
  absl::Status MayDebit(Transaction& transaction, const std::string& user,
                        int events) const override;
  absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  // An event costs the device no privacy: the server adds the noise. It is only counted.
  Account AccountOf(const std::string& user) const {
    return {options_.model, options_.policy, user, options_.events_max, 0};
  }

  const Options options_;
};

}  // namespace bandana::device
