#include "server/service/connections/listen_addresses.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/service/connections/peer.h"

namespace bandana::server {
namespace {

// As PeerOf names them, all with one port.
std::vector<std::string> NamesOf(const Address& listen) {
  std::vector<std::string> names;
  const absl::StatusOr<ListenAddresses> addresses = AddressesOf(listen);
  if (!addresses.ok()) return names;
  for (const addrinfo* info = addresses->get(); info != nullptr; info = info->ai_next) {
    sockaddr_storage address = {};
    std::memcpy(&address, info->ai_addr, info->ai_addrlen);
    if (const auto named = PeerOf(address)) names.push_back(named->name);
  }
  return names;
}

// [::] takes the connections of IPv4 as well.
bool Covers(const std::string& all, const std::string& one) {
  return all == one || all == "[::]:0" || (all == "0.0.0.0:0" && !one.starts_with('['));
}

}  // namespace

absl::StatusOr<ListenAddresses> AddressesOf(const Address& listen) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = ::getaddrinfo(listen.host.c_str(), nullptr, &hints, &first); error != 0) {
    return Unavailable("cannot listen on ", ToString(listen), ": ", ::gai_strerror(error));
  }
  return ListenAddresses(first, ::freeaddrinfo);
}

bool Exclude(const Address& a, const Address& b) {
  if (a.port != b.port || a.port == 0) return false;
  const std::vector<std::string> others = NamesOf(b);
  return std::ranges::any_of(NamesOf(a), [&](const std::string& one) {
    return std::ranges::any_of(
        others, [&](const std::string& other) { return Covers(one, other) || Covers(other, one); });
  });
}

}  // namespace bandana::server
