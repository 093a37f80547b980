// A value that one thread hands to another, once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace bandana::device {

// Unlike std::promise it may be destroyed as soon as Get returns, while Set is still leaving.
template <typename T>
class Once {
 public:
  void Set(T value) {
    const std::lock_guard lock(mutex_);
    value_.emplace(std::move(value));
    ready_.notify_one();
  }
  // Blocks until Set.
  T Get() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return value_.has_value(); });
    return *std::move(value_);
  }
  // False: not set within the time.
  bool WaitFor(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return ready_.wait_for(lock, time, [this] { return value_.has_value(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::optional<T> value_;
};

}  // namespace bandana::device
