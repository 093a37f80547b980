// The client of echo_ratio: a closed loop of asynchronous calls on one connection and one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"

namespace bandana::bench {

struct LoadResult {
  double calls_per_second = 0;
  double p50_us = 0;  // from start to answer, in the closed loop
  double p99_us = 0;
};

// Threads: not thread-safe.
class LoadClient {
 public:
  static constexpr int kInFlight = 64;
  static constexpr double kWarmUpSeconds = 0.2;

  explicit LoadClient(const std::string& address);
  ~LoadClient();

  // The requests in turn, for `seconds` after a short warm-up. Aborts the program on any error.
  LoadResult Select(const std::vector<v1::SelectRequest>& requests, double seconds);
  LoadResult BatchSelect(const std::vector<v1::BatchSelectRequest>& requests, double seconds);
  // Bytes of one answer; -1 when the call failed.
  int ResponseBytes(const v1::SelectRequest& request);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace bandana::bench
