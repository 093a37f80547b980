#include "client/src/base/scheduler.h"

#include <algorithm>
#include <utility>

namespace bandana::device {

ThreadScheduler::ThreadScheduler() : thread_([this] { Loop(); }) {}

ThreadScheduler::~ThreadScheduler() { Stop(); }

absl::Duration ThreadScheduler::Elapsed() const {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

bool ThreadScheduler::RunAfter(absl::Duration delay, Task task) {
  const Time at =
      std::chrono::steady_clock::now() +
      absl::ToChronoNanoseconds(std::clamp(delay, absl::ZeroDuration(), absl::Hours(24)));
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  const bool first = entries_.empty() || at < entries_.top().at;
  entries_.push({at, std::move(task)});
  if (first) wake_.notify_one();
  return true;
}

void ThreadScheduler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  // Nothing is added any more.
  for (; !entries_.empty(); entries_.pop()) entries_.top().task();
}

void ThreadScheduler::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (entries_.empty()) {
      wake_.wait(lock);
      continue;
    }
    if (const Time at = entries_.top().at; std::chrono::steady_clock::now() < at) {
      wake_.wait_until(lock, at);
      continue;
    }
    Task task = std::move(entries_.top().task);
    entries_.pop();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace bandana::device
