#include "client/core/selection/posterior_clock.h"

#include <utility>

#include "client/core/callback.h"
#include "common/base/status.h"

namespace bandana::device {

void PosteriorClock::Start(Callback<void(const absl::Status&)> started) {
  if (options_.kept != nullptr) {
    const auto kept = options_.kept->Find(KeptAnswers::kPosterior);
    const auto response = ReadPosteriorResponse(kept == nullptr ? "" : *kept);
    if (kept != nullptr && response.ok()) Parse(*response).IgnoreError();
    return started(absl::OkStatus());
  }
  Fetch([this, started = std::move(started)](const absl::Status& status) {
    if (status.ok()) Wait();
    started(status);
  });
}

void PosteriorClock::FetchAtStart(Callback<void()> done) {
  Fetch([done = std::move(done)](const absl::Status&) { done(); });
}

void PosteriorClock::Wait() {
  timers_->RunAfter(options_.interval, [this] {
    if (closed_) return;
    Fetch([this](const absl::Status&) {
      if (!closed_) Wait();
    });
  });
}

void PosteriorClock::Fetch(const Callback<void(absl::Status)>& done) {
  calls_->Make(Method::kGetPosterior,
               PosteriorRequestBytes(options_.model, "", latest_ == nullptr ? 0 : latest_->version),
               {.deadline = options_.deadline},
               [this, done](const Answer& answer, const std::string& response) {
                 done(Take(answer, response));
               });
}

absl::Status PosteriorClock::Take(const Answer& answer, const std::string& bytes) {
  if (!answer.status.ok()) return answer.status;
  BANDANA_ASSIGN_OR_RETURN(const PosteriorResponse response, ReadPosteriorResponse(bytes));
  if (response.not_modified) return absl::OkStatus();
  absl::Status parsed = Parse(response);
  if (parsed.ok() && options_.kept != nullptr) options_.kept->Put(KeptAnswers::kPosterior, bytes);
  return parsed;
}

absl::Status PosteriorClock::Parse(const PosteriorResponse& response) {
  auto posterior = ParsePosterior(response, options_.dimension);
  if (!posterior.ok()) return posterior.status();
  latest_ = std::make_shared<const UserPosterior>(*std::move(posterior));
  return absl::OkStatus();
}

}  // namespace bandana::device
