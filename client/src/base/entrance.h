// The one way of threads into the core: one at a time.
#pragma once

#include <functional>
#include <mutex>
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
    std::vector<Task> told;
    {
      const std::lock_guard lock(mutex_);
      ++depth_;
      task();
      if (--depth_ == 0) told.swap(told_);
    }
    for (const Task& tell : told) tell();
  }
  // Inside: runs `task` after the core is left.
  void Tell(Task task) { told_.push_back(std::move(task)); }

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;
  std::vector<Task> told_;
};

}  // namespace bandana::device
