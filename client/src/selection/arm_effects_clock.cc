#include "client/src/selection/arm_effects_clock.h"

#include <utility>

#include "client/src/base/once.h"

namespace bandana::device {

// One fetch: pages, one call after the other.
struct ArmEffectsClock::Fetching {
  ArmEffectsPages pages;
  std::function<void(absl::Status)> done;
};

absl::Status ArmEffectsClock::Start() {
  const std::lock_guard lock(starting_);
  if (started_) return absl::OkStatus();
  Once<absl::Status> first;
  Fetch([&first](absl::Status status) { first.Set(std::move(status)); });
  absl::Status status = first.Get();
  started_ = status.ok();
  if (started_) Wait();
  return status;
}

std::shared_ptr<const ArmEffects> ArmEffectsClock::Latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void ArmEffectsClock::Wait() {
  {
    const std::lock_guard lock(mutex_);
    if (none_) return;
  }
  scheduler_->RunAfter(options_.interval, [this] {
    if (closed_) return;
    Fetch([this](const absl::Status&) {
      if (!closed_) Wait();
    });
  });
}

void ArmEffectsClock::Fetch(std::function<void(absl::Status)> done) {
  auto fetching = std::make_shared<Fetching>();
  fetching->done = std::move(done);
  FetchPage(fetching, 0);
}

void ArmEffectsClock::FetchPage(const std::shared_ptr<Fetching>& fetching,
                                std::uint64_t first_arm) {
  v1::GetArmEffectsRequest request;
  request.set_model(options_.model);
  request.set_tag(options_.tag);
  request.set_first_arm(first_arm);
  const auto known = Latest();
  if (first_arm == 0 && known != nullptr) request.set_if_newer_than(known->version());
  transport_->GetArmEffects(
      request, {.deadline = options_.deadline},
      [this, fetching](const Answer& answer, v1::GetArmEffectsResponse& page) {
        std::uint64_t next_arm = 0;
        absl::Status status = Take(fetching, answer, page, next_arm);
        if (status.ok() && next_arm != 0) return FetchPage(fetching, next_arm);
        fetching->done(std::move(status));
      });
}

absl::Status ArmEffectsClock::Take(const std::shared_ptr<Fetching>& fetching, const Answer& answer,
                                   const v1::GetArmEffectsResponse& page, std::uint64_t& next_arm) {
  const absl::StatusCode code = answer.status.code();
  const std::lock_guard lock(mutex_);
  if (code == absl::StatusCode::kFailedPrecondition || code == absl::StatusCode::kUnimplemented) {
    none_ = true;
    latest_ = nullptr;
    return absl::OkStatus();
  }
  if (!answer.status.ok()) return answer.status;
  if (page.not_modified() && latest_ != nullptr) return absl::OkStatus();
  auto next = fetching->pages.Add(page);
  if (!next.ok()) return next.status();
  next_arm = *next;
  if (next_arm == 0) latest_ = fetching->pages.Take();
  return absl::OkStatus();
}

}  // namespace bandana::device
