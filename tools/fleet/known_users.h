// The part of a server's configuration about users who are known before they react, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/bandits/graph.h"
#include "tools/environments/environment.h"

namespace bandana {

// level1, level2 ..., from the largest groups to the smallest.
std::vector<std::string> LevelNames(const KnownUsers& known);

// The level of the smallest groups that a graph model can take for its nodes: at most 200 groups,
// and no more rows than a component may have. None where even the largest groups are too many.
std::optional<int> ClusterLevel(const KnownUsers& known, const EnvironmentInfo& info);

// Rounded up.
int UsersPerGroup(const KnownUsers& known, int users, int level);

// The kind is kEdgeWeights: friendships between the groups of this level. A pair of friends counts
// as often as one names the other.
Graph FriendsBetweenGroups(const KnownUsers& known, int users, int level);

// users.tsv (docs/formats.md): each user's groups, and as node that of `cluster_level`, if any.
std::string UsersText(const KnownUsers& known, int users, std::optional<int> cluster_level);

// An edge list, as bandana-import graph reads it.
std::string EdgesText(const KnownUsers& known, int users);

}  // namespace bandana
