// Checks of a decision that a backend asked the server for, by the device that shows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/client.h"
#include "client/core/selection/selector.h"
#include "common/mechanisms/reward_range.h"

namespace bandana::device {

// The client that adopts.
struct Adopter {
  std::string_view user;
  std::string_view model;
  std::string policy_hash;
  std::optional<RewardRange> range;  // with mechanism CENTRED_RANDOMIZER
  absl::Time now;
};

// Errors: INVALID_ARGUMENT, naming the field: it is not of this user, model or policy, or is no
// answer of one ranking; FAILED_PRECONDITION decided more than an hour after `now`.
absl::StatusOr<Ranking> RankingOf(const Adopter& adopter, BackendAnswer answer);

}  // namespace bandana::device
