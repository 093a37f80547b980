// The one place on the device where a reward becomes a randomized one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/privacy/event_mechanism.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// Invariants, for every decision: 1. its event is debited durably before its draw. 2. At most one
// draw is ever persisted, and only persisted draws are sent. 3. What is persisted and sent is the
// drawn output; neither the reward nor its clipped form is.
//
// Privacy:  epsilon-LDP per event (replacement of one reward); docs/privacy/reward_randomizer.md.
class Privatizer final : public EventMechanism {
 public:
  struct Options {
    RewardRandomizer randomizer;
    bool centred = false;       // CENTRED_RANDOMIZER
    double default_reward = 0;  // what missing and NaN rewards mean
    std::string model;
    PolicyId policy = 0;
    std::uint64_t events_max = 0;  // of one user, 0 = no bound
    std::uint64_t event_cost = 0;  // as Account::event_cost
    BitSource* bits = nullptr;     // outlives the privatizer
  };
  explicit Privatizer(Options options) : options_(std::move(options)) {}

  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override;
  absl::Status Debit(Store::Transaction& transaction, const std::string& user) const override;
  absl::StatusOr<device::Release> Release(Store::Transaction& transaction, ReportRow& row,
                                          const SecretBytes& held, const Draw& draw) const override;

 private:
  Account AccountOf(const std::string& user) const {
    return {options_.model, options_.policy, user, options_.events_max, options_.event_cost};
  }

  // Whether a reward is clipped to the decision's window, of a centred model, and not to the range.
  bool UsesWindow(const std::optional<RewardRange>& window) const;

  const Options options_;
};

}  // namespace bandana::device
