// Which connections a listener has, and which further ones it takes: numbers only, no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "server/service/access/rate_limit.h"
#include "server/service/connections/connection_limits.h"
#include "server/service/connections/flood_watch.h"
#include "server/service/connections/peer.h"

namespace bandana::server {

// Why a connection is not taken.
enum class Refusal { kNone, kFull, kGroupFull, kTooFast, kOffender, kBanned };
inline constexpr int kRefusals = 6;

// A socket, and what tells it from a later one with the same number.
struct SocketId {
  int descriptor = -1;
  std::uint64_t inode = 0;
};

// gRPC tells nobody when it closes a connection: one is open for as long as its descriptor is the
// same socket. Threads: not safe.
class ConnectionBook {
 public:
  // `is_open` whether the descriptor is still that socket.
  ConnectionBook(const ConnectionLimits& limits, std::function<bool(const SocketId&)> is_open);

  // kNone: it is in the book.
  Refusal Enter(const Peer& peer, const SocketId& socket, absl::Time now);
  // A call has come over it: its handshake was no waste.
  void Spoke(const std::string& peer_name);
  // The socket to close, when this one was an offence too many, or the address has offended before
  // (kOffenderTime); it stays in the book until it is, and is not told again.
  // Null: none such, or of no connection that is known.
  const SocketId* Offence(const std::string& peer_name, absl::Time now);
  // The same of an offence that needs no second one.
  const SocketId* GraveOffence(const std::string& peer_name, absl::Time now);
  // The sockets to close of an address that floods (FloodWatch), all it has; none of it is taken
  // for kFloodBanTime.
  std::vector<SocketId> Ban(const std::string& group, absl::Time now);
  // What each open connection has taken in, by `bytes` of its socket.
  std::vector<Intake> Intakes(const std::function<std::uint64_t(const SocketId&)>& bytes) const;
  // Forgets connections that are closed, and addresses of which nothing is to be remembered.
  // Enter calls it often enough; O(connections).
  void Sweep(absl::Time now);

  std::size_t open() const { return connections_.size(); }

 private:
  struct Group {
    explicit Group(const ConnectionLimits& limits);
    int open = 0;
    int silent = 0;  // of these, without a call so far
    RateLimit arrivals;
    RateLimit offender_arrivals;
    RateLimit silent_ends;
    absl::Time offender_until = absl::InfinitePast();
    absl::Time banned_until = absl::InfinitePast();
    absl::Time last_arrival = absl::InfinitePast();
  };
  struct Connection {
    SocketId socket;
    std::string group;
    std::unique_ptr<RateLimit> offences;  // null: none so far
    bool closing = false;                 // was told
    bool spoke = false;
  };
  using Connections = std::unordered_map<std::string, Connection>;

  Group& GroupNamed(const std::string& name);
  absl::Duration SweepInterval(const Group& group) const;
  Connections::iterator Erase(Connections::iterator at, absl::Time now);
  Refusal Judge(Group& group, absl::Time now);

  const ConnectionLimits limits_;
  const int per_group_max_;
  const std::function<bool(const SocketId&)> is_open_;
  Connections connections_;                        // by Peer::name
  std::unordered_map<std::string, Group> groups_;  // by Peer::group
  absl::Time swept_ = absl::InfinitePast();
};

}  // namespace bandana::server
