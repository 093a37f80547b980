#include "tools/fleet/known_users.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "tools/environments/cluster_graph.h"

namespace bandana {
namespace {

constexpr int kClustersMax = 200;  // an event of a graph model costs the square of its rows

// This level's: groups lie in the order of their users.
int GroupsAt(const KnownUsers& known, int users, int level) {
  return static_cast<int>(known.GroupOf(static_cast<std::uint32_t>(users - 1), level)) + 1;
}

}  // namespace

std::vector<std::string> LevelNames(const KnownUsers& known) {
  std::vector<std::string> names;
  for (int level = 1; level <= known.levels(); ++level) {
    names.push_back(absl::StrCat("level", level));
  }
  return names;
}

std::optional<int> ClusterLevel(const KnownUsers& known, const EnvironmentInfo& info) {
  std::optional<int> chosen;
  for (int level = 0; level < known.levels(); ++level) {
    const int groups = GroupsAt(known, info.users, level);
    if (groups <= kClustersMax && groups * info.dimension <= kComponentRowsMax) chosen = level;
  }
  return chosen;
}

int UsersPerGroup(const KnownUsers& known, int users, int level) {
  const int groups = GroupsAt(known, users, level);
  return (users + groups - 1) / groups;
}

Graph FriendsBetweenGroups(const KnownUsers& known, int users, int level) {
  std::vector<std::pair<int, int>> pairs;
  std::vector<int> groups(users);
  std::vector<std::uint32_t> friends;
  for (int user = 0; user < users; ++user) {
    groups[user] = static_cast<int>(known.GroupOf(static_cast<std::uint32_t>(user), level));
    known.FriendsOf(static_cast<std::uint32_t>(user), friends);
    for (const std::uint32_t other : friends) pairs.emplace_back(user, static_cast<int>(other));
  }
  return ClusterGraph(pairs, groups, GroupsAt(known, users, level));
}

std::string UsersText(const KnownUsers& known, int users, std::optional<int> cluster_level) {
  std::string text = cluster_level ? "user\tnode" : "user";
  for (const std::string& name : LevelNames(known)) absl::StrAppend(&text, "\t", name);
  text += '\n';
  for (int i = 0; i < users; ++i) {
    const auto user = static_cast<std::uint32_t>(i);
    absl::StrAppend(&text, user);
    if (cluster_level) absl::StrAppend(&text, "\t", known.GroupOf(user, *cluster_level));
    for (int level = 0; level < known.levels(); ++level) {
      absl::StrAppend(&text, "\t", known.GroupOf(user, level));
    }
    text += '\n';
  }
  return text;
}

std::string EdgesText(const KnownUsers& known, int users) {
  std::string text;
  std::vector<std::uint32_t> friends;
  for (int user = 0; user < users; ++user) {
    known.FriendsOf(static_cast<std::uint32_t>(user), friends);
    for (const std::uint32_t other : friends) absl::StrAppend(&text, user, "\t", other, "\n");
  }
  return text;
}

}  // namespace bandana
