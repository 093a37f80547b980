#include "common/base/address.h"

#include <arpa/inet.h>

#include <charconv>

#include "common/base/status.h"

namespace bandana {

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return InvalidArgument("must be host:port, got \"", ToAbsl(text), "\"");
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  Address address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size()) {
    return InvalidArgument("must end in a port in [0, 65535], got \"", ToAbsl(text), "\"");
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return InvalidArgument("must have an IPv6 host in brackets, got \"", ToAbsl(text), "\"");
  }
  address.host = std::string(host);
  return address;
}

std::string ToString(const Address& address) {
  const bool bracketed = address.host.find(':') != std::string::npos;
  return absl::StrCat(bracketed ? "[" : "", address.host, bracketed ? "]" : "", ":", address.port);
}

bool IsLoopback(const Address& address) {
  in_addr four;
  if (::inet_pton(AF_INET, address.host.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) >> 24) == 127;
  }
  in6_addr six;
  if (::inet_pton(AF_INET6, address.host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return address.host == "localhost";
}

bool IsLocalTarget(std::string_view target) {
  if (target.starts_with("unix:")) return true;
  for (const std::string_view scheme : {"dns:///", "ipv4:", "ipv6:"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    break;
  }
  const auto address = ParseAddress(target);
  return address.ok() && IsLoopback(*address);
}

}  // namespace bandana
