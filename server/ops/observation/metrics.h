// Prometheus metrics. Labels are methods, status codes, models and reject reasons: their number is
// bounded by the server's own limits, never by what clients send.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/ops/observation/model_view.h"
#include "server/ops/observation/process_stats.h"
#include "server/service/transport/call_observer.h"

namespace bandana::server {

// Durations of all calls since the start: for each of QueueRpcs, counts of the buckets that end at
// `bounds`, seconds, and of what is beyond.
struct CallTotals {
  std::vector<double> bounds;
  std::vector<std::vector<std::uint64_t>> buckets;
};

// Threads: all methods are safe. OnCall costs one atomic addition and one uncontended lock, OnStart
// such a lock.
class Metrics final : public CallObserver {
 public:
  Metrics();
  ~Metrics() override;

  void OnStart(const Rpc& rpc, absl::Duration waited) override;
  // Calls of Admin are counted by themselves.
  void OnCall(const Rpc& rpc, int status_code, absl::Duration duration) override;
  // Samples how far models are behind. To be called about once per second.
  void Tick(const ServerView& view);

  CallTotals Totals() const;

  // The text exposition format, version 0.0.4.
  std::string Render(const ServerView& view, const ProcessStats& process) const;

 private:
  struct Calls;
  const std::unique_ptr<Calls> calls_;
};

}  // namespace bandana::server
