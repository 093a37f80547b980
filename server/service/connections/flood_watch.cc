#include "server/service/connections/flood_watch.h"

#include <algorithm>
#include <utility>

namespace bandana::server {

std::vector<std::string> FloodWatch::Look(const std::vector<Intake>& connections) {
  std::unordered_map<std::string, std::uint64_t> now;
  std::unordered_map<std::string, std::uint64_t> taken;  // since the look before, by connection
  std::unordered_map<std::string, std::uint64_t> by_group;
  for (const Intake& connection : connections) {
    now[connection.name] = connection.bytes;
    const auto before = before_.find(connection.name);
    if (before == before_.end() || connection.bytes <= before->second) continue;
    taken[connection.name] = connection.bytes - before->second;
    by_group[connection.group] += connection.bytes - before->second;
  }
  before_ = std::move(now);
  const auto most =
      std::max_element(by_group.begin(), by_group.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> floods;
  if (most == by_group.end() || most->second < kFloodBytesMin) return floods;
  // An address may have quiet clients, too: those with an eighth of an even share stay.
  const std::uint64_t share = most->second / (8 * taken.size());
  for (const Intake& connection : connections) {
    const auto found = taken.find(connection.name);
    if (connection.group == most->first && found != taken.end() && found->second > share) {
      floods.push_back(connection.name);
    }
  }
  return floods;
}

}  // namespace bandana::server
