// Says in the log when the pairs of a model of effects come near their limit, and when they reach
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace bandana::server {

// Not thread-safe.
class PairsWatch {
 public:
  using Warn = std::function<void(const std::string&)>;
  PairsWatch(std::uint64_t pairs_max, Warn warn) : max_(pairs_max), warn_(std::move(warn)) {}

  // One line at 80 % of the limit and one at the limit, each once.
  void Look(std::uint64_t pairs);

 private:
  const std::uint64_t max_;
  const Warn warn_;
  bool warned_of_near_ = false;
  bool warned_of_full_ = false;
};

}  // namespace bandana::server
