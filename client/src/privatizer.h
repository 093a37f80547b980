// The one place on the device where a reward becomes a randomized one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/release.h"
#include "client/src/store.h"
#include "client/src/tables.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/random/bit_source.h"

namespace bandana::device {

// A reward that waits for its draw, and where it was clipped to.
struct Clipped {
  ClippedReward reward;
  bool whole_range = false;  // of a centred model: not in the window of the decision
};

// Invariants, for every decision: 1. its event is debited durably before its draw. 2. At most one
// draw is ever persisted, and only persisted draws are sent. 3. What is persisted and sent is the
// drawn output; neither the reward nor its clipped form is.
//
// Privacy:  epsilon-LDP per event (replacement of one reward); docs/privacy/reward_randomizer.md.
// Threads:  Clip and Default are safe; Release runs on the store's writer thread.
class Privatizer {
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

  // RawReward -> ClippedReward: nothing keeps the raw value. `window`: of the arm shown, from the
  // server (CENTRED_RANDOMIZER); nothing stands for the whole range.
  Clipped Clip(std::optional<double> reward, const std::optional<RewardRange>& window) const;
  Clipped Default(const std::optional<RewardRange>& window) const {
    return Clip(std::nullopt, window);
  }

  // Debits one event of the user, for a draw in a later transaction. Errors: FAILED_PRECONDITION
  // the user's events are used up.
  absl::Status Debit(Store::Transaction& transaction, const std::string& user) const;

  // Draws the report of the decision `row` (number, owner, state, times, user, token or the shown
  // arm's features), writes the row and remembers until `forget_at` that it was drawn.
  // Errors: FAILED_PRECONDITION the user's events are used up; UNAVAILABLE entropy failed: nothing
  // drawn or written, a debit made stands.
  absl::StatusOr<device::Release> Release(Store::Transaction& transaction, ReportRow& row,
                                          int shown, const Clipped& reward, Payment payment,
                                          absl::Time forget_at) const;

 private:
  Account AccountOf(const std::string& user) const {
    return {options_.model, options_.policy, user, options_.events_max, options_.event_cost};
  }

  const Options options_;
};

}  // namespace bandana::device
