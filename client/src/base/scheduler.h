// Runs closures later, on one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/core/timers.h"

namespace bandana::device {

// Tasks run on the scheduler's thread. Threads: safe.
class Scheduler : public Timers {
 public:
  // Ends the thread, then runs what was waiting at once, here: nobody waits for a task in vain.
  // Not from a task.
  virtual void Stop() = 0;
};

// By the monotonic clock.
class ThreadScheduler final : public Scheduler {
 public:
  ThreadScheduler();
  // Stop.
  ~ThreadScheduler() override;

  absl::Duration Elapsed() const override;
  bool RunAfter(absl::Duration delay, Task task) override;
  void Stop() override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    Time at;
    mutable Task task;  // moved out of the queue's const top
    bool operator<(const Entry& other) const { return at > other.at; }
  };
  void Loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::priority_queue<Entry> entries_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bandana::device
