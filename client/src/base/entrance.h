// The one way of threads into the core: one at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace bandana::device {

// The core is not thread-safe, and what it tells the application may call it again; so the
// application is told after the core is left, by the thread that was in it. Threads: safe.
class Entrance {
 public:
  using Task = std::function<void()>;

  // Runs `task` inside the core. A thread that is inside may enter again.
  void Enter(const Task& task) {
    std::vector<Task> calls;
    std::vector<Task> told;
    std::uint64_t batch = 0;
    {
      const std::lock_guard lock(mutex_);
      ++depth_;
      task();
      if (--depth_ == 0) {
        calls.swap(calls_);
        told.swap(told_);
      }
      if (!told.empty()) batch = Begin();
    }
    for (Task& call : calls) call();
    if (told.empty()) return;
    for (Task& tell : told) tell();
    End(batch);
  }
  // Inside: makes a call after the core is left, before the application is told anything: how long
  // its callbacks take must not be seen in when a call is made.
  void Call(Task task) { calls_.push_back(std::move(task)); }
  // Inside: runs `task` after the core is left.
  void Tell(Task task) { told_.push_back(std::move(task)); }
  // Waits until all that other threads were to tell by now is told. Not from a told task.
  void WaitUntilTold(std::chrono::nanoseconds time) {
    std::unique_lock lock(telling_mutex_);
    const std::uint64_t last = next_;
    ended_.wait_for(lock, time, [&] { return telling_.empty() || *telling_.begin() > last; });
  }

 private:
  std::uint64_t Begin() {
    const std::lock_guard lock(telling_mutex_);
    telling_.insert(++next_);
    return next_;
  }
  void End(std::uint64_t batch) {
    const std::lock_guard lock(telling_mutex_);
    telling_.erase(batch);
    ended_.notify_all();
  }

  std::recursive_mutex mutex_;
  int depth_ = 0;
  std::vector<Task> calls_;
  std::vector<Task> told_;

  std::mutex telling_mutex_;  // of the lines below
  std::condition_variable ended_;
  std::uint64_t next_ = 0;
  std::set<std::uint64_t> telling_;  // batches under way
};

}  // namespace bandana::device
