// How a completion queue is waited for that is seldom used, in a process that has a busy one (ADR
// 38).
#pragma once

#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace bandana::server {

// A thread that waits inside gRPC may be the one that reads the sockets of all queues, and then
// wakes another queue's thread for each call: selections take 1.4 times the processor time. So this
// one looks, and sleeps outside, for 0.02 processors. Not thread-safe.
class LooksAside {
 public:
  using Sleep = std::chrono::microseconds;
  static constexpr Sleep kShortest{50};
  // The longest extra wait of a call when there was none before it.
  static constexpr Sleep kLongest{2000};

  explicit LooksAside(Sleep longest = kLongest) : longest_(longest) {}

  // As CompletionQueue::Next.
  bool Next(grpc::CompletionQueue& queue, void** tag, bool* ok) {
    for (;;) {
      switch (queue.AsyncNext(tag, ok, gpr_inf_past(GPR_CLOCK_MONOTONIC))) {
        case grpc::CompletionQueue::GOT_EVENT:
          sleep_ = kShortest;
          return true;
        case grpc::CompletionQueue::SHUTDOWN:
          return false;
        case grpc::CompletionQueue::TIMEOUT:
          Wait();
      }
    }
  }
  // After a look that found nothing.
  void Wait() {
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(2 * sleep_, longest_);
  }
  // After one that found something.
  void Found() { sleep_ = kShortest; }

 private:
  const Sleep longest_;
  Sleep sleep_ = kShortest;
};

}  // namespace bandana::server
