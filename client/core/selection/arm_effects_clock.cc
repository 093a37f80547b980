#include "client/core/selection/arm_effects_clock.h"

#include <utility>

#include "client/core/callback.h"
#include "common/base/status.h"

namespace bandana::device {

// One fetch: pages, one call after the other.
struct ArmEffectsClock::Fetching {
  ArmEffectsPages pages;
  std::string all;  // their bytes, to be kept
  Callback<void(absl::Status)> done;
};

ArmEffectsClock::ArmEffectsClock(Options options, Calls* calls, Timers* timers)
    : options_(std::move(options)), calls_(calls), timers_(timers) {
  if (options_.kept == nullptr) return;
  const auto kept = options_.kept->Find(KeptAnswers::kArmEffects);
  if (kept == nullptr) return;
  const auto page = ReadArmEffectsPage(*kept);
  ArmEffectsPages pages;
  none_ = kept->empty();
  started_ = none_ || (page.ok() && pages.Add(*page).ok());
  if (started_ && !none_) latest_ = pages.Take();
}

void ArmEffectsClock::FetchAtStart(Callback<void()> done) {
  if (!started_ || none_) return done();
  Fetch([done = std::move(done)](const absl::Status&) { done(); });
}

void ArmEffectsClock::Start(Started started) {
  if (started_) return started(absl::OkStatus());
  starting_.push_back(std::move(started));
  if (starting_.size() > 1) return;
  Fetch([this](const absl::Status& status) {
    started_ = status.ok();
    if (started_ && options_.kept == nullptr) Wait();
    for (const Started& started : std::exchange(starting_, {})) started(status);
  });
}

void ArmEffectsClock::Wait() {
  if (none_) return;
  timers_->RunAfter(options_.interval, [this] {
    if (closed_) return;
    Fetch([this](const absl::Status&) {
      if (!closed_) Wait();
    });
  });
}

void ArmEffectsClock::Fetch(Callback<void(absl::Status)> done) {
  auto fetching = std::make_shared<Fetching>();
  fetching->done = std::move(done);
  FetchPage(fetching, 0);
}

void ArmEffectsClock::FetchPage(const std::shared_ptr<Fetching>& fetching,
                                std::uint64_t first_arm) {
  const bool if_newer = first_arm == 0 && latest_ != nullptr;
  calls_->Make(Method::kGetArmEffects,
               ArmEffectsRequestBytes(options_.model, options_.tag,
                                      if_newer ? latest_->version() : 0, first_arm),
               {.deadline = options_.deadline},
               [this, fetching](const Answer& answer, const std::string& response) {
                 std::uint64_t next_arm = 0;
                 absl::Status status = Take(*fetching, answer, response, next_arm);
                 if (status.ok() && next_arm != 0) return FetchPage(fetching, next_arm);
                 fetching->done(std::move(status));
               });
}

absl::Status ArmEffectsClock::Take(Fetching& fetching, const Answer& answer,
                                   const std::string& response, std::uint64_t& next_arm) {
  const absl::StatusCode code = answer.status.code();
  if (code == absl::StatusCode::kFailedPrecondition || code == absl::StatusCode::kUnimplemented) {
    none_ = true;
    latest_ = nullptr;
    if (options_.kept != nullptr) options_.kept->Put(KeptAnswers::kArmEffects, "");
    return absl::OkStatus();
  }
  if (!answer.status.ok()) return answer.status;
  BANDANA_ASSIGN_OR_RETURN(const ArmEffectsPage page, ReadArmEffectsPage(response));
  if (page.not_modified && latest_ != nullptr) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(next_arm, fetching.pages.Add(page));
  if (options_.kept != nullptr) fetching.all += response;
  if (next_arm != 0) return absl::OkStatus();
  latest_ = fetching.pages.Take();
  if (options_.kept != nullptr) {
    options_.kept->Put(KeptAnswers::kArmEffects,
                       JoinArmEffectsPages(fetching.all, latest_->version()));
  }
  return absl::OkStatus();
}

}  // namespace bandana::device
