// Reports to a model in this process, as fast as they are taken.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "bench/zipf_events.h"
#include "server/models/hosted_model.h"

namespace bandana::bench {

inline constexpr int kReport = 64;    // events of a report
inline constexpr int kInFlight = 64;  // reports

// Not thread-safe.
class Reporter {
 public:
  // `complete` says who decided about what in an event that has features, a number and a reward.
  using Complete = std::function<void(ReportedOutcome&)>;
  Reporter(server::HostedModel& model, ZipfEvents& events, Complete complete)
      : model_(model), events_(events), complete_(std::move(complete)) {}

  // Until `enough`, which is asked before each report how many events were sent; then until all are
  // answered. Every one must be APPLIED.
  void Run(const std::function<bool(std::int64_t sent)>& enough);

 private:
  ReportedOutcome Next();
  void Send(std::vector<ReportedOutcome> outcomes);

  server::HostedModel& model_;
  ZipfEvents& events_;
  const Complete complete_;
  std::int64_t sent_ = 0;
  std::mutex mutex_;
  std::condition_variable free_;
  int in_flight_ = 0;
  int refused_ = 0;
};

// Until everything durable is in the statistics.
void WaitApplied(const server::HostedModel& model);

}  // namespace bandana::bench
