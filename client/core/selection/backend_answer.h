// A decision that a backend asked the server for, as the device that shows it is handed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/client.h"
#include "client/core/selection/selector.h"
#include "common/mechanisms/reward_range.h"

namespace bandana::device {

// v1.SelectResponse, and the facts of its request. A stranger's: nothing in it is believed that the
// device can check.
struct BackendAnswer {
  std::string user;
  std::string model;
  std::string policy_hash;  // 32 bytes
  absl::Time decided;       // when the backend was answered, by its clock
  int shown = 0;            // rank that is shown, 0 = best
  std::vector<RankedArm> arms;
  std::string token;
  std::uint64_t posterior_version = 0;
  std::vector<double> reward_windows;  // CENTRED_RANDOMIZER: low and high end, per arm
};

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
