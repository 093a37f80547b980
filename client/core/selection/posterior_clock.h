// The posterior of a model whose contexts are private, fetched by the clock: when it is asked for
// says nothing about anybody.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/kept_answers.h"
#include "client/core/selection/posteriors.h"
#include "client/core/timers.h"

namespace bandana::device {

// One call each `interval`, from Start on, whatever the application does; it names the model and
// the version that the device has, no user. A call that fails is not repeated before its time.
class PosteriorClock {
 public:
  struct Options {
    std::string model;
    int dimension = 0;
    absl::Duration interval;
    absl::Duration deadline;  // of a call
    // Not null: fetches at starts alone, and begins with what is kept.
    KeptAnswers* kept = nullptr;
  };
  // Both outlive it.
  PosteriorClock(Options options, Calls* calls, Timers* timers)
      : options_(std::move(options)), calls_(calls), timers_(timers) {}

  // Fetches the first posterior, then goes on; `started` hears of the first. Call once. Errors: of
  // the call; INTERNAL an answer of another shape.
  void Start(Callback<void(const absl::Status&)> started);
  // With `kept`: one fetch. `done` runs when it was answered, or was not.
  void FetchAtStart(Callback<void()> done);
  // Starts nothing more.
  void Close() { closed_ = true; }

  // Null before Start.
  const std::shared_ptr<const UserPosterior>& Latest() const { return latest_; }

 private:
  void Wait();
  void Fetch(const Callback<void(absl::Status)>& done);
  absl::Status Take(const Answer& answer, const std::string& bytes);
  absl::Status Parse(const PosteriorResponse& response);

  const Options options_;
  Calls* const calls_;
  Timers* const timers_;
  bool closed_ = false;
  std::shared_ptr<const UserPosterior> latest_;
};

}  // namespace bandana::device
