#include "client/src/delivery/queue_slots.h"

#include <utility>

#include "common/base/status.h"

namespace bandana::device {

void QueueSlots::Acquire(ClientOptions::WhenFull when_full, Granted granted) {
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      status = Unavailable("the client is closing");
    } else if (used_ < capacity_ && waiting_.empty()) {
      ++used_;
    } else if (when_full == ClientOptions::WhenFull::kBlock &&
               static_cast<std::int64_t>(waiting_.size()) < capacity_) {
      waiting_.push_back(std::move(granted));
      return;
    } else {
      status = absl::ResourceExhaustedError(
          absl::StrCat("the report queue is full: ", capacity_, " reports wait for the server"));
    }
  }
  granted(std::move(status));
}

bool QueueSlots::TryAcquire(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  if (closed_ || used_ + count > capacity_) return false;
  used_ += count;
  return true;
}

void QueueSlots::Force(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  used_ += count;
}

void QueueSlots::Release() {
  Granted next;
  {
    const std::lock_guard lock(mutex_);
    --used_;
    if (used_ >= capacity_ || waiting_.empty()) return;
    ++used_;
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next(absl::OkStatus());
}

void QueueSlots::Close() {
  std::deque<Granted> waiting;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting.swap(waiting_);
  }
  for (const Granted& granted : waiting) granted(Unavailable("the client is closing"));
}

std::int64_t QueueSlots::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace bandana::device
