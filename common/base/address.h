// host:port of a listener or a server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bandana {

struct Address {
  std::string host;  // name or number; IPv6 without its brackets
  std::uint16_t port = 0;
};

// `host:port`, IPv6 as `[::1]:7070`. Errors: INVALID_ARGUMENT.
absl::StatusOr<Address> ParseAddress(std::string_view text);
std::string ToString(const Address& address);

// 127.0.0.0/8, ::1 and localhost: no other machine can reach these.
bool IsLoopback(const Address& address);

// Whether a gRPC target stays on this machine: unix:PATH, or host:port of a loopback address with
// or without dns:///, ipv4: or ipv6: before it. False for a target that does not parse.
bool IsLocalTarget(std::string_view target);

}  // namespace bandana
