// Limits of a listener's connections and calls, beside those of common/base/limits.h.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace bandana::server {

// Each holds about 30 KiB and a descriptor.
inline constexpr int kConnectionsMaxDefault = 4096;
inline constexpr int kConnectionsMaxMin = 16;
inline constexpr int kConnectionsMaxMax = 65'536;
// New connections per address and second. Each costs the thread of the selections about 0.1 ms,
// with TLS about two milliseconds.
inline constexpr int kArrivalsPerSecondDefault = 256;
inline constexpr int kArrivalsPerSecondMaxMax = 1'000'000;
// Longer than the 60 s of common balancers: whoever closes a connection while a request is on its
// way resets it, and a balancer knows whether it has sent one.
inline constexpr absl::Duration kHttpIdleDefault = absl::Seconds(75);
inline constexpr absl::Duration kKeepaliveIntervalDefault = absl::Seconds(10);
// Refused credentials and oversized messages per connection and second. A client that heeds its
// answers stops long before.
inline constexpr double kOffencesPerSecondDefault = 20;
inline constexpr double kOffencesPerSecondMaxMax = 1e6;
// After a connection was closed for them, its address gets this many new ones per second, each
// closed at its first offence, until it has not offended for this long.
inline constexpr double kOffenderArrivalsPerSecond = 2;
inline constexpr absl::Duration kOffenderTime = absl::Seconds(10);

// While reading holds the thread of the selections (FloodWatch): how long it may (what four
// connections sent in one second took five more to refuse); how often the connections are then
// looked at; how much an address must have sent between two looks to be the cause; how long it is
// shut out.
inline constexpr absl::Duration kHeldTimeMax = absl::Milliseconds(300);
inline constexpr absl::Duration kFloodLookInterval = absl::Milliseconds(50);
inline constexpr std::uint64_t kFloodBytesMin = 256 * 1024;
inline constexpr absl::Duration kFloodBanTime = absl::Minutes(1);

// The greatest values that a configuration may set for calls in flight and open watches.
inline constexpr int kCallsInFlightMaxMax = 4096;
inline constexpr int kWatchesMaxMax = 1024;

struct ConnectionLimits {
  int connections_max = kConnectionsMaxDefault;
  int per_group_max = 0;  // of one address (Peer::group); 0: half of connections_max, at least 1,
                          // so that one machine cannot shut out the others
  double arrivals_per_second = kArrivalsPerSecondDefault;  // of one address; as many at once
  double offences_per_second = kOffencesPerSecondDefault;  // of one connection; as many at once
  bool close_floods = true;                                // see FloodWatch
  // A new connection costs a handshake (TLS): one that ends without a call is an offence of its
  // address, of which offences_per_second are forgiven.
  bool handshakes = false;
  absl::Duration http_idle = kHttpIdleDefault;          // between two requests of HTTP/1.1
  absl::Duration grpc_idle = absl::InfiniteDuration();  // without a call of gRPC
  absl::Duration keepalive_interval_min = kKeepaliveIntervalDefault;  // between pings of gRPC
};

}  // namespace bandana::server
