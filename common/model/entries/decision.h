// The content of a sealed decision token, as plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/mechanisms/reward_range.h"

namespace bandana {

using DecisionId = std::array<std::byte, 16>;  // 128 random bits

struct SealedArm {
  double propensity = 0;         // (0, 1] for the first, [0, 1] for the others
  std::vector<double> features;  // d, already clipped to feature_l2_max
  // CENTRED_RANDOMIZER: where the device randomizes the reward; else nothing.
  std::optional<RewardRange> window;
  // Models of effects: the key parts of the user, then those of the arm; of others none.
  std::vector<std::uint64_t> keys;
  // The caller's own arm, which was shown whatever the model says: whether the model would have
  // chosen it. Of the first alone.
  std::optional<bool> agreed = {};
};

struct Decision {
  std::array<std::byte, 16> instance{};  // the model's instance id
  std::uint64_t epoch = 0;
  DecisionId id{};
  absl::Time time;              // of the Select
  std::int32_t node = -1;       // graph and shared models; -1 = by user id
  std::string user;             // independent models; else empty
  std::vector<SealedArm> arms;  // the top_k, best first
  std::uint32_t shown = 0;      // rank that Select named; below arms.size()
  bool deferred = false;        // counts from its activation on
  // `arms` has the arm of rank `shown` and no other: there are more ranks than a token carries.
  bool shown_alone = false;
};

// The arm of a rank; null where the decision does not have it.
inline const SealedArm* ArmOfRank(const Decision& decision, std::uint32_t rank) {
  if (decision.shown_alone) return rank == decision.shown ? &decision.arms.front() : nullptr;
  return rank < decision.arms.size() ? &decision.arms[rank] : nullptr;
}

}  // namespace bandana
