#include "client/src/selection/arm_effects_clock.h"

#include <utility>

#include "client/src/base/once.h"

namespace bandana::device {

// One fetch: pages, one call after the other.
struct ArmEffectsClock::Fetching {
  ArmEffectsPages pages;
  v1::GetArmEffectsResponse all;  // of them, to be kept
  std::function<void(absl::Status)> done;
};

ArmEffectsClock::ArmEffectsClock(Options options, Transport* transport, Scheduler* scheduler)
    : options_(std::move(options)), transport_(transport), scheduler_(scheduler) {
  if (options_.kept == nullptr) return;
  const auto kept = options_.kept->Find(KeptAnswers::kArmEffects);
  if (kept == nullptr) return;
  v1::GetArmEffectsResponse page;
  ArmEffectsPages pages;
  none_ = kept->empty();
  started_ = none_ || (page.ParseFromString(*kept) && pages.Add(page).ok());
  if (started_ && !none_) latest_ = pages.Take();
}

void ArmEffectsClock::FetchAtStart(std::function<void()> done) {
  bool wanted = false;
  {
    const std::lock_guard starting(starting_);
    const std::lock_guard lock(mutex_);
    wanted = started_ && !none_;
  }
  if (!wanted) return done();
  Fetch([done = std::move(done)](const absl::Status&) { done(); });
}

absl::Status ArmEffectsClock::Start() {
  const std::lock_guard lock(starting_);
  if (started_) return absl::OkStatus();
  Once<absl::Status> first;
  Fetch([&first](absl::Status status) { first.Set(std::move(status)); });
  absl::Status status = first.Get();
  started_ = status.ok();
  if (started_ && options_.kept == nullptr) Wait();
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
    if (options_.kept != nullptr) options_.kept->Put(KeptAnswers::kArmEffects, "");
    return absl::OkStatus();
  }
  if (!answer.status.ok()) return answer.status;
  if (page.not_modified() && latest_ != nullptr) return absl::OkStatus();
  auto next = fetching->pages.Add(page);
  if (!next.ok()) return next.status();
  next_arm = *next;
  if (options_.kept != nullptr) {
    const bool first = fetching->all.ids().empty();
    const std::uint64_t version = first ? page.version() : fetching->all.version();
    fetching->all.MergeFrom(page);
    fetching->all.set_version(version);  // as of the first page
  }
  if (next_arm != 0) return absl::OkStatus();
  latest_ = fetching->pages.Take();
  if (options_.kept == nullptr) return absl::OkStatus();
  fetching->all.clear_next_arm();
  options_.kept->Put(KeptAnswers::kArmEffects, fetching->all.SerializeAsString());
  return absl::OkStatus();
}

}  // namespace bandana::device
