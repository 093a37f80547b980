// Questions of servers to one another about their parts of a model's decision log.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/design/instance_id.h"

namespace bandana::server {

struct PartQuestion {
  std::string model;
  InstanceId instance{};
  std::uint64_t sequence = 0;  // of the model's log: entries up to it are applied first
  std::string user;            // whose lines are wanted; empty: nobody's
};

// Its rewards are durable, and what was deleted is erased.
struct PartAnswer {
  std::string server;              // its name
  std::uint64_t erased = 0;        // lines that the newest deletion took
  std::vector<std::string> lines;  // of the user, as JSON
};

// Asks the servers at these addresses; those that have answered. Waits for some seconds at most.
using AskParts = std::function<std::vector<PartAnswer>(std::span<const std::string> addresses,
                                                       const PartQuestion& question)>;

}  // namespace bandana::server
