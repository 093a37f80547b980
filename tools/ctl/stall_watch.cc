#include "tools/ctl/stall_watch.h"

#include <grpcpp/client_context.h>

#include "common/base/clock.h"

namespace bandana {

StallWatch::StallWatch(grpc::ClientContext& context, absl::Duration longest)
    : context_(context), longest_(longest), moved_(SteadyNow()), thread_([this] { Watch(); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void StallWatch::Moved() {
  const std::lock_guard lock(mutex_);
  moved_ = SteadyNow();
}

bool StallWatch::stalled() const {
  const std::lock_guard lock(mutex_);
  return stalled_;
}

void StallWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const absl::Duration left = moved_ + longest_ - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      stalled_ = true;
      context_.TryCancel();
      return;
    }
    changed_.wait_for(lock, absl::ToChronoNanoseconds(left));
  }
}

}  // namespace bandana
