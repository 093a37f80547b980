#include "server/models/replicas/ranks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"

namespace bandana::server {
namespace {

// Greater goes first. Two servers have different addresses, and so different turns.
Sha256Digest TurnOf(std::string_view log, const std::string& server) {
  return Sha256Of(absl::StrCat(absl::string_view(log.data(), log.size()), server));
}

}  // namespace

std::size_t RankOf(std::string_view log, std::span<const std::string> servers,
                   const std::string& self) {
  const Sha256Digest own = TurnOf(log, self);
  return static_cast<std::size_t>(std::ranges::count_if(servers, [&](const std::string& server) {
    return server != self && TurnOf(log, server) > own;
  }));
}

const std::string& FirstOf(std::string_view log, std::span<const std::string> servers) {
  return *std::ranges::max_element(servers, {},
                                   [&](const std::string& server) { return TurnOf(log, server); });
}

}  // namespace bandana::server
