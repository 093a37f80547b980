#include "client/src/delivery/pending_reports.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/status.h"

namespace bandana::device {

void PendingReports::Begin(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  busy_ += count;
}

void PendingReports::End() {
  std::function<void()> then;
  {
    const std::lock_guard lock(mutex_);
    if (--busy_ > 0) return;
    idle_.notify_all();
    then = std::exchange(when_idle_, nullptr);
  }
  if (then) then();
}

void PendingReports::WhenIdle(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_ > 0) {
      when_idle_ = std::move(then);
      return;
    }
  }
  then();
}

bool PendingReports::WaitUntilIdle(absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, absl::ToChronoNanoseconds(std::min(timeout, absl::Hours(24))),
                        [this] { return busy_ == 0; });
}

void PendingReports::Await(DecisionNumber number, Done done) {
  const std::lock_guard lock(mutex_);
  waiters_[number] = std::move(done);
}

void PendingReports::Settled(DecisionNumber number, Delivery delivery) {
  Inform(number, delivery);
  slots_.Release();
  End();
}

void PendingReports::Ended(DecisionNumber number, Delivery delivery) {
  counters_->Count(delivery);
  Inform(number, delivery);
  slots_.Release();
}

void PendingReports::Inform(DecisionNumber number, Delivery delivery) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiters_.find(number);
    if (found == waiters_.end()) return;
    done = std::move(found->second);
    waiters_.erase(found);
  }
  done(delivery);
}

void PendingReports::Refuse(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  if (!refusal_.ok()) return;
  refusal_ = status;
  model_changed_ = true;
}

bool PendingReports::model_changed() const {
  const std::lock_guard lock(mutex_);
  return model_changed_;
}

absl::Status PendingReports::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void PendingReports::Close() {
  {
    const std::lock_guard lock(mutex_);
    if (refusal_.ok()) refusal_ = Unavailable("the client is closing");
  }
  slots_.Close();
}

}  // namespace bandana::device
