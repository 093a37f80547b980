// The way of spans to a collector.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "server/ops/config/collector.h"
#include "server/ops/spans.h"

namespace bandana::server {

// One POST, at most two seconds. Errors: UNAVAILABLE no answer, or another one than 2xx.
absl::Status PostSpans(const TraceCollector& collector, const std::string& body);

// A thread that sends what waits in the queue, about once per second. Spans that the collector does
// not take are dropped and counted: nobody waits for it. One line in the log says when it begins to
// fail, and one when it takes spans again. Threads: none but the constructor and the destructor.
class SpanSender {
 public:
  // `queue` must outlive it.
  SpanSender(TraceCollector collector, SpanQueue& queue);
  // Sends what waits, once.
  ~SpanSender();

 private:
  void Run();
  void SendAll();

  const TraceCollector collector_;
  SpanQueue& queue_;
  bool failing_ = false;
  std::mutex mutex_;  // guards stopping_
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bandana::server
