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

namespace bandana::device {

// Time is the monotonic clock: a change of the wall clock moves nothing. Threads: safe.
class Scheduler {
 public:
  using Task = std::function<void()>;

  Scheduler();
  // Stop.
  ~Scheduler();

  // Runs `task` on the scheduler's thread after `delay`; tasks must be short. False after Stop:
  // the task is dropped.
  bool RunAfter(absl::Duration delay, Task task);
  // Ends the thread, then runs what was waiting at once, here: nobody waits for a task in vain.
  // Not from a task.
  void Stop();

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
