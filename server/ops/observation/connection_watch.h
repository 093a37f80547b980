// Lines about connections that listeners refuse.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/time/time.h"
#include "server/service/connections/acceptor.h"

namespace bandana::server {

// Threads: all methods are safe.
class ConnectionWatch {
 public:
  using Say = std::function<void(const std::string& line)>;
  explicit ConnectionWatch(Say say) : say_(std::move(say)) {}

  // Says which listener has refused new connections since it was last said, and why: at most one
  // line per listener and minute. `listeners`: by name; one that is not there has nothing said of
  // it.
  void See(const std::map<std::string, ConnectionStats>& listeners, absl::Time now);

 private:
  struct Told {
    std::array<std::int64_t, kRefusals> refused = {};
    absl::Time at = absl::InfinitePast();
  };
  const Say say_;
  std::mutex mutex_;
  std::map<std::string, Told> told_;
};

}  // namespace bandana::server
