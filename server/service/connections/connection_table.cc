#include "server/service/connections/connection_table.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace bandana::server {
namespace {

// A look at a connection takes a system call of 0.3 us: 4096 of them about a millisecond.
constexpr absl::Duration kSweepInterval = absl::Milliseconds(250);
constexpr absl::Duration kSweepIntervalPressed = absl::Milliseconds(25);
// The bucket of arrivals is full again by then.
constexpr absl::Duration kGroupMemory = absl::Seconds(2);

std::uint32_t OneSecond(double rate) {
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(rate)));
}

}  // namespace

ConnectionTable::Group::Group(const ConnectionLimits& limits)
    : arrivals(limits.arrivals_per_second, OneSecond(limits.arrivals_per_second)),
      offender_arrivals(kOffenderArrivalsPerSecond, OneSecond(kOffenderArrivalsPerSecond)),
      silent_ends(limits.offences_per_second, OneSecond(limits.offences_per_second)) {}

ConnectionTable::ConnectionTable(const ConnectionLimits& limits,
                                 std::function<bool(const SocketId&)> is_open)
    : limits_(limits),
      per_group_max_(limits.per_group_max > 0 ? limits.per_group_max
                                              : std::max(1, limits.connections_max / 2)),
      is_open_(std::move(is_open)) {}

Refusal ConnectionTable::Judge(Group& group, absl::Time now) {
  if (connections_.size() >= static_cast<std::size_t>(limits_.connections_max)) {
    return Refusal::kFull;
  }
  if (now < group.banned_until) return Refusal::kBanned;
  if (group.open >= per_group_max_) return Refusal::kGroupFull;
  if (now < group.offender_until && group.offender_arrivals.Take(now) > absl::ZeroDuration()) {
    return Refusal::kOffender;
  }
  return group.arrivals.Take(now) > absl::ZeroDuration() ? Refusal::kTooFast : Refusal::kNone;
}

Refusal ConnectionTable::Enter(const Peer& peer, const SocketId& socket, absl::Time now) {
  if (now - swept_ >= SweepInterval(GroupNamed(peer.group))) Sweep(now);
  Refusal refusal = Judge(GroupNamed(peer.group), now);
  const bool full = refusal == Refusal::kFull || refusal == Refusal::kGroupFull;
  if (full && now - swept_ >= kSweepIntervalPressed) {
    Sweep(now);
    refusal = Judge(GroupNamed(peer.group), now);
  }
  Group& group = GroupNamed(peer.group);
  group.last_arrival = now;
  if (refusal != Refusal::kNone) return refusal;
  // A peer that has come back from the same port, before its old connection was seen to be gone.
  if (const auto old = connections_.find(peer.name); old != connections_.end()) Erase(old, now);
  connections_.emplace(peer.name, Connection{.socket = socket, .group = peer.group});
  ++group.open;
  ++group.silent;
  return Refusal::kNone;
}

void ConnectionTable::NoteCall(const std::string& peer_name) {
  const auto found = connections_.find(peer_name);
  if (found == connections_.end() || found->second.spoke) return;
  found->second.spoke = true;
  --groups_.at(found->second.group).silent;
}

const SocketId* ConnectionTable::Offence(const std::string& peer_name, absl::Time now) {
  const auto found = connections_.find(peer_name);
  if (found == connections_.end() || found->second.closing) return nullptr;
  Connection& connection = found->second;
  Group& group = groups_.at(connection.group);
  if (now >= group.offender_until) {
    if (connection.offences == nullptr) {
      connection.offences = std::make_unique<RateLimit>(limits_.offences_per_second,
                                                        OneSecond(limits_.offences_per_second));
    }
    if (connection.offences->Take(now) == absl::ZeroDuration()) return nullptr;
  }
  group.offender_until = now + kOffenderTime;
  connection.closing = true;
  return &connection.socket;
}

const SocketId* ConnectionTable::GraveOffence(const std::string& peer_name, absl::Time now) {
  const auto found = connections_.find(peer_name);
  if (found == connections_.end() || found->second.closing) return nullptr;
  groups_.at(found->second.group).offender_until = now + kOffenderTime;
  found->second.closing = true;
  return &found->second.socket;
}

std::vector<SocketId> ConnectionTable::Ban(const std::string& group, absl::Time now) {
  std::vector<SocketId> sockets;
  for (auto& [name, connection] : connections_) {
    if (connection.group != group || connection.closing) continue;
    connection.closing = true;
    sockets.push_back(connection.socket);
  }
  if (const auto found = groups_.find(group); found != groups_.end()) {
    found->second.banned_until = now + kFloodBanTime;
  }
  return sockets;
}

std::vector<Intake> ConnectionTable::Intakes(
    const std::function<std::uint64_t(const SocketId&)>& bytes) const {
  std::vector<Intake> intakes;
  for (const auto& [name, connection] : connections_) {
    if (connection.closing || !is_open_(connection.socket)) continue;
    intakes.push_back({.name = name, .group = connection.group, .bytes = bytes(connection.socket)});
  }
  return intakes;
}

ConnectionTable::Group& ConnectionTable::GroupNamed(const std::string& name) {
  return groups_.try_emplace(name, limits_).first->second;
}

// While more than are forgiven may have ended silently, it matters to see it soon.
absl::Duration ConnectionTable::SweepInterval(const Group& group) const {
  const bool pressed = limits_.handshakes && group.silent > limits_.offences_per_second;
  return pressed ? kSweepIntervalPressed : kSweepInterval;
}

ConnectionTable::Connections::iterator ConnectionTable::Erase(Connections::iterator at,
                                                              absl::Time now) {
  const Connection& connection = at->second;
  Group& group = groups_.at(connection.group);
  --group.open;
  if (!connection.spoke) --group.silent;
  const bool wasted = limits_.handshakes && !connection.spoke && !connection.closing;
  if (wasted &&
      (now < group.offender_until || group.silent_ends.Take(now) > absl::ZeroDuration())) {
    group.offender_until = now + kOffenderTime;
  }
  return connections_.erase(at);
}

void ConnectionTable::Sweep(absl::Time now) {
  swept_ = now;
  for (auto it = connections_.begin(); it != connections_.end();) {
    it = is_open_(it->second.socket) ? std::next(it) : Erase(it, now);
  }
  std::erase_if(groups_, [&](const auto& entry) {
    const Group& group = entry.second;
    return group.open == 0 && now >= group.offender_until && now >= group.banned_until &&
           now >= group.last_arrival + kGroupMemory;
  });
}

}  // namespace bandana::server
