#include "server/service/connections/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

std::string Number(int family, const void* address) {
  char text[INET6_ADDRSTRLEN] = {};
  return ::inet_ntop(family, address, text, sizeof text) == nullptr ? "" : text;
}

Peer OfIpv4(const in_addr& address, in_port_t port) {
  const std::string number = Number(AF_INET, &address);
  return {.name = absl::StrCat(number, ":", ntohs(port)), .group = number};
}

}  // namespace

std::optional<Peer> PeerOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return OfIpv4(four.sin_addr, four.sin_port);
  }
  if (address.ss_family != AF_INET6) return std::nullopt;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    in_addr four;
    std::memcpy(&four, &six.sin6_addr.s6_addr[12], sizeof four);
    return OfIpv4(four, six.sin6_port);
  }
  in6_addr network = six.sin6_addr;
  std::memset(&network.s6_addr[8], 0, 8);
  return Peer{
      .name = absl::StrCat("[", Number(AF_INET6, &six.sin6_addr), "]:", ntohs(six.sin6_port)),
      .group = absl::StrCat(Number(AF_INET6, &network), "/64")};
}

std::string PeerName(std::string_view uri) {
  if (uri.starts_with("ipv4:")) return std::string(uri.substr(5));
  if (!uri.starts_with("ipv6:")) return "";
  return absl::StrReplaceAll(ToAbsl(uri.substr(5)), {{"%5B", "["}, {"%5D", "]"}});
}

}  // namespace bandana::server
