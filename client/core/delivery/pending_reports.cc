#include "client/core/delivery/pending_reports.h"

#include <utility>

#include "client/core/callback.h"
#include "common/base/status.h"

namespace bandana::device {

void PendingReports::End() {
  if (--busy_ > 0) return;
  for (const auto& then : std::exchange(when_idle_, {})) then();
}

void PendingReports::WhenIdle(Callback<void()> then) {
  if (busy_ == 0) return then();
  when_idle_.push_back(std::move(then));
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
  const auto found = waiters_.find(number);
  if (found == waiters_.end()) return;
  const Done done = std::move(found->second);
  waiters_.erase(found);
  done(delivery);
}

void PendingReports::Refuse(const absl::Status& status) {
  if (!refusal_.ok()) return;
  refusal_ = status;
  model_changed_ = true;
}

void PendingReports::Close() {
  if (refusal_.ok()) refusal_ = Unavailable("the client is closing");
  slots_.Close();
}

}  // namespace bandana::device
