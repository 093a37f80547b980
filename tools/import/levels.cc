#include "tools/import/levels.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/import/partition.h"

namespace bandana {
namespace {

constexpr double kFirstParts = 6.25;        // so that doubling gives 12, 25, 50, 100
constexpr double kUsersPerSmallGroup = 50;  // where there are many users
constexpr int kUsersPerGroupMin = 2;

}  // namespace

std::vector<int> LevelParts(int users, int levels) {
  BANDANA_CHECK(users >= 1);
  BANDANA_CHECK(levels >= 1 && levels <= kLevelsMax);
  const int parts_max = std::max(1, users / kUsersPerGroupMin);
  double size = std::max(kFirstParts, std::ldexp(users / kUsersPerSmallGroup, 1 - levels));
  std::vector<int> parts = {std::min(static_cast<int>(size), parts_max)};
  while (static_cast<int>(parts.size()) < levels && 2 * size <= parts_max) {
    size *= 2;
    parts.push_back(static_cast<int>(size));
  }
  return parts;
}

absl::StatusOr<std::vector<LevelOfUsers>> CutLevels(
    int users, std::span<const std::pair<int, int>> pairs, std::span<const int> parts, int seed,
    const std::function<void(std::string_view)>& progress) {
  CutGraph graph(users, pairs, seed);
  std::vector<LevelOfUsers> levels;
  for (const int count : parts) {
    if (progress) {
      progress(
          absl::StrCat("level ", levels.size() + 1, " of ", parts.size(), ": ", count, " groups"));
    }
    BANDANA_ASSIGN_OR_RETURN(LevelOfUsers groups, graph.Cut(count));
    for (int user = 0; user < users; ++user) {
      if (!graph.HasEdges(user)) groups[user] = kNoGroup;
    }
    levels.push_back(std::move(groups));
  }
  return levels;
}

}  // namespace bandana
