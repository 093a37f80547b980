// Where a connection comes from.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace bandana::server {

struct Peer {
  std::string name;   // 192.0.2.1:4711 or [2001:db8::1]:4711; unique among open connections
  std::string group;  // what limits count together: an IPv4 address, or 64 bits of an IPv6 one,
                      // since whoever has one such address has them all
};

// IPv4 and IPv6; an IPv4 address inside IPv6 counts as IPv4, as gRPC has it. Nothing for other
// families.
std::optional<Peer> PeerOf(const sockaddr_storage& address);

// The name of the peer that gRPC calls `uri` (ipv4:192.0.2.1:4711, ipv6:%5B2001:db8::1%5D:4711).
// Empty for others.
std::string PeerName(std::string_view uri);

}  // namespace bandana::server
