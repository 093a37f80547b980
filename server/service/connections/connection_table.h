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

// gRPC does not say when it closes a connection. A connection counts as open while its descriptor
// is the same socket. Threads: not safe.
class ConnectionTable {
 public:
  // `is_open` says whether the descriptor is still that socket.
  ConnectionTable(const ConnectionLimits& limits, std::function<bool(const SocketId&)> is_open);

  // kNone: it is in the table.
  Refusal Enter(const Peer& peer, const SocketId& socket, absl::Time now);
  // Notes that a call has come over it, so that its handshake counts as no offence.
  void NoteCall(const std::string& peer_name);
  // Notes an offence. Returns the socket to close when this was one offence too many, or when the
  // address has offended before (kOffenderTime). It stays in the table until it is closed, and is
  // returned once. Null: nothing to close, or the connection is not known.
  const SocketId* Offence(const std::string& peer_name, absl::Time now);
  // As above for an offence that is too grave to be forgiven once.
  const SocketId* GraveOffence(const std::string& peer_name, absl::Time now);
  // Shuts out an address that floods (FloodWatch) for kFloodBanTime. Returns all its sockets, to be
  // closed.
  std::vector<SocketId> Ban(const std::string& group, absl::Time now);
  // How much was read from each open connection; `bytes` tells it of a socket.
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
