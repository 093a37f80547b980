#include "client/core/delivery/queue_slots.h"

#include <utility>

#include "common/base/status.h"

namespace bandana::device {

void QueueSlots::Acquire(ClientOptions::WhenFull when_full, Granted granted) {
  if (closed_) return granted(Unavailable("the client is closing"));
  if (used_ < capacity_ && waiting_.empty()) {
    ++used_;
    return granted(absl::OkStatus());
  }
  if (when_full == ClientOptions::WhenFull::kBlock &&
      static_cast<std::int64_t>(waiting_.size()) < capacity_) {
    waiting_.push_back(std::move(granted));
    return;
  }
  granted(absl::ResourceExhaustedError(
      absl::StrCat("the report queue is full: ", capacity_, " reports wait for the server")));
}

bool QueueSlots::TryAcquire(std::int64_t count) {
  if (closed_ || used_ + count > capacity_) return false;
  used_ += count;
  return true;
}

void QueueSlots::Release() {
  --used_;
  if (used_ >= capacity_ || waiting_.empty()) return;
  ++used_;
  const Granted next = std::move(waiting_.front());
  waiting_.pop_front();
  next(absl::OkStatus());
}

void QueueSlots::Close() {
  closed_ = true;
  for (const Granted& granted : std::exchange(waiting_, {})) {
    granted(Unavailable("the client is closing"));
  }
}

}  // namespace bandana::device
