// Keeps what opens windows back while a start of any client of one store is under way.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

namespace bandana::device {

// Tasks run one after another, and none while a start is under way. A task may pass once more.
// Threads: safe.
class StartGate {
 public:
  using Task = std::function<void()>;

  void Begin() {
    const std::lock_guard lock(mutex_);
    ++starts_;
  }
  void End() {
    const std::lock_guard lock(mutex_);
    --starts_;
    while (starts_ == 0 && !waiting_.empty()) {
      const Task task = std::move(waiting_.front());
      waiting_.pop_front();
      task();
    }
  }
  // Runs `task` now, or, in their order, when no start is under way.
  void Pass(Task task) {
    const std::lock_guard lock(mutex_);
    if (starts_ == 0) return task();
    waiting_.push_back(std::move(task));
  }

 private:
  std::recursive_mutex mutex_;  // tasks pass, and end starts
  int starts_ = 0;
  std::deque<Task> waiting_;
};

}  // namespace bandana::device
