#include "server/service/connections/flood_watch.h"

#include <algorithm>
#include <utility>

namespace bandana::server {

std::string FloodWatch::Look(const std::vector<Intake>& connections) {
  std::unordered_map<std::string, std::uint64_t> now;
  std::unordered_map<std::string, std::uint64_t> taken;  // since the look before, by group
  for (const Intake& connection : connections) {
    now[connection.name] = connection.bytes;
    const auto before = before_.find(connection.name);
    if (before == before_.end() || connection.bytes <= before->second) continue;
    taken[connection.group] += connection.bytes - before->second;
  }
  before_ = std::move(now);
  const auto most = std::max_element(
      taken.begin(), taken.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == taken.end() || most->second < kFloodBytesMin ? "" : most->first;
}

}  // namespace bandana::server
