#include "server/service/admin/stream_guard.h"

#include <grpcpp/server_context.h>

#include <algorithm>

#include "common/base/clock.h"
#include "common/base/status.h"

namespace bandana::server {

StreamGuard::Lease::~Lease() {
  if (guard_ != nullptr) guard_->Leave(id_);
}

void StreamGuard::Lease::Extend(absl::Duration by) { guard_->Extend(id_, by); }

StreamGuard::StreamGuard(const Options& options)
    : options_(options), watcher_([this] { Watch(); }) {}

StreamGuard::~StreamGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  watcher_.join();
}

absl::StatusOr<StreamGuard::Lease> StreamGuard::Enter(grpc::ServerContext& context) {
  const std::lock_guard lock(mutex_);
  if (static_cast<int>(open_.size()) >= options_.streams_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("at most ", options_.streams_max, " administrative streams at a time"));
  }
  const std::uint64_t id = next_id_++;
  open_[id] = {SteadyNow() + options_.stream_life_max, &context};
  changed_.notify_all();
  return Lease(*this, id);
}

void StreamGuard::Leave(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  open_.erase(id);
}

// The watcher need not know: it looks again when the old deadline is over.
void StreamGuard::Extend(std::uint64_t id, absl::Duration by) {
  const std::lock_guard lock(mutex_);
  open_.at(id).deadline += by;
}

void StreamGuard::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto next =
        std::min_element(open_.begin(), open_.end(),
                         [](const auto& a, const auto& b) { return Before(a.second, b.second); });
    if (next == open_.end() || next->second.context == nullptr) {
      changed_.wait(lock);
    } else if (const absl::Duration left = next->second.deadline - SteadyNow();
               left > absl::ZeroDuration()) {
      changed_.wait_for(lock, absl::ToChronoNanoseconds(left));
    } else {
      next->second.context->TryCancel();
      next->second.context = nullptr;
    }
  }
}

}  // namespace bandana::server
