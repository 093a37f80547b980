#include "client/src/selection/posterior_clock.h"

#include <utility>

#include "client/src/base/once.h"

namespace bandana::device {

absl::Status PosteriorClock::Start() {
  if (options_.kept != nullptr) {
    const auto kept = options_.kept->Find(KeptAnswers::kPosterior);
    v1::GetPosteriorResponse response;
    if (kept != nullptr && response.ParseFromString(*kept)) Parse(response).IgnoreError();
    return absl::OkStatus();
  }
  Once<absl::Status> first;
  Fetch([&first](absl::Status status) { first.Set(std::move(status)); });
  absl::Status status = first.Get();
  if (status.ok()) Wait();
  return status;
}

void PosteriorClock::FetchAtStart(std::function<void()> done) {
  Fetch([done = std::move(done)](const absl::Status&) { done(); });
}

std::shared_ptr<const UserPosterior> PosteriorClock::Latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void PosteriorClock::Wait() {
  scheduler_->RunAfter(options_.interval, [this] {
    if (closed_) return;
    Fetch([this](const absl::Status&) {
      if (!closed_) Wait();
    });
  });
}

void PosteriorClock::Fetch(const std::function<void(absl::Status)>& done) {
  v1::GetPosteriorRequest request;
  request.set_model(options_.model);
  const auto known = Latest();
  if (known != nullptr) request.set_if_newer_than(known->version);
  transport_->GetPosterior(request, {.deadline = options_.deadline},
                           [this, done](const Answer& answer, v1::GetPosteriorResponse& response) {
                             done(Take(answer, response));
                           });
}

absl::Status PosteriorClock::Take(const Answer& answer, const v1::GetPosteriorResponse& response) {
  if (!answer.status.ok()) return answer.status;
  if (response.not_modified()) return absl::OkStatus();
  absl::Status parsed = Parse(response);
  if (parsed.ok() && options_.kept != nullptr) {
    options_.kept->Put(KeptAnswers::kPosterior, response.SerializeAsString());
  }
  return parsed;
}

absl::Status PosteriorClock::Parse(const v1::GetPosteriorResponse& response) {
  auto posterior = ParsePosterior(response, options_.dimension);
  if (!posterior.ok()) return posterior.status();
  const std::lock_guard lock(mutex_);
  latest_ = std::make_shared<const UserPosterior>(*std::move(posterior));
  return absl::OkStatus();
}

}  // namespace bandana::device
