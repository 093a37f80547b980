// The simulated visitors of a playground: a bandana-fleet per model.
#pragma once

#include <list>
#include <string>
#include <string_view>

#include "server/ops/playground/visitors.h"

namespace bandana::server {

// They end with this object, and with the process (Visitor). For the main thread alone.
class Attendance {
 public:
  // `fleet`: path of bandana-fleet. `listen`: the server's gRPC address. Those that cannot be
  // started are named in the log.
  void Begin(const std::string& fleet, std::string_view listen);
  // Names in the log, once, those that have ended by themselves.
  void Look();
  // Ends all of them, together.
  void End();

 private:
  struct Group {
    std::string model;
    Visitor fleet;
  };
  std::list<Group> groups_;
};

}  // namespace bandana::server
