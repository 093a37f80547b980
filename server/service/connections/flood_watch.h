// Who keeps a listener's reading thread busy: numbers only, no sockets.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/service/connections/connection_limits.h"

namespace bandana::server {

// The bytes that gRPC has taken from a connection so far.
struct Intake {
  std::string name;   // Peer::name
  std::string group;  // Peer::group
  std::uint64_t bytes = 0;
};

// gRPC 1.51 reads a connection until nothing is left on it, and only then hands over calls. So a
// connection that sends small calls faster than they are parsed holds the serving thread for ever.
// While the thread is held, a look every kFloodLookInterval tells whose bytes it reads. Threads:
// not safe.
class FloodWatch {
 public:
  // The address that sent most since the last look, when that was kFloodBytesMin or more; else
  // empty. One connection is read at a time, so what its others have sent says nothing.
  // `connections` all that are open; the first look after Rest finds none.
  std::string Look(const std::vector<Intake>& connections);
  // The thread is free again: forgets what was counted.
  void Rest() { before_.clear(); }

 private:
  std::unordered_map<std::string, std::uint64_t> before_;  // bytes by name
};

}  // namespace bandana::server
