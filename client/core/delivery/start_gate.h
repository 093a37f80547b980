// Keeps what opens windows back while a start of any client of one store is under way.
#pragma once

#include <cstdint>
#include <list>
#include <utility>

#include "client/core/callback.h"

namespace bandana::device {

// Tasks run one after another, and none while a start is under way. A task may pass once more.
class StartGate {
 public:
  using Task = Callback<void()>;

  void Begin() { ++starts_; }
  void End() {
    --starts_;
    while (starts_ == 0 && !waiting_.empty()) {
      const Task task = std::move(waiting_.front().task);
      waiting_.pop_front();
      task();
    }
  }
  // Runs `task` now, or, in their order, when no start is under way. `owner`: of the client that
  // it is of.
  void Pass(std::int64_t owner, Task task) {
    if (starts_ == 0) return task();
    waiting_.push_back({owner, std::move(task)});
  }
  // The client closes: its tasks run now, and find that.
  void Release(std::int64_t owner) {
    std::list<Waiting> others;
    for (Waiting& waiting : std::exchange(waiting_, {})) {
      if (waiting.owner == owner) {
        waiting.task();
      } else {
        others.push_back(std::move(waiting));
      }
    }
    waiting_.splice(waiting_.begin(), others);
  }

 private:
  struct Waiting {
    std::int64_t owner;
    Task task;
  };
  int starts_ = 0;
  std::list<Waiting> waiting_;
};

}  // namespace bandana::device
