// Groups from a graph: the same users cut into few large groups, more smaller ones, and so on.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

inline constexpr int kLevelsDefault = 8;
inline constexpr int kLevelsMax = 20;

// How many groups each level has, doubling from level to level: 6, 12, 25, 50, ... 800 for up to
// 40,000 users and 8 levels; for more users so many that the last level has 50 users per group.
// Levels of fewer than 2 users per group are left out, but for the first. Requires users >= 1 and
// `levels` in [1, kLevelsMax].
std::vector<int> LevelParts(int users, int levels);

// The group of a user at a level, [0, parts of the level), or kNoGroup: a user without friends.
inline constexpr int kNoGroup = -1;
using LevelOfUsers = std::vector<int>;

// One cut of the graph (partition.h) per entry of `parts`. The levels are cut one by one, so they
// need not nest. `progress` is told each level when it begins; may be empty. Requires what CutGraph
// requires. Errors: as CutGraph::Cut.
absl::StatusOr<std::vector<LevelOfUsers>> CutLevels(
    int users, std::span<const std::pair<int, int>> pairs, std::span<const int> parts, int seed,
    const std::function<void(std::string_view)>& progress);

}  // namespace bandana
