// The posterior of a model whose contexts are private, fetched by the clock: when it is asked for
// says nothing about anybody.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/scheduler.h"
#include "client/src/base/transport.h"
#include "client/src/selection/posteriors.h"
#include "client/src/store/kept_answers.h"

namespace bandana::device {

// One call each `interval`, from Start on, whatever the application does; it names the model and
// the version that the device has, no user. A call that fails is not repeated before its time.
// Threads: safe; callbacks come from the scheduler's and the transport's threads.
class PosteriorClock {
 public:
  struct Options {
    std::string model;
    int dimension = 0;
    absl::Duration interval;
    absl::Duration deadline;  // of a call
    // Not null: fetches at starts alone, and begins with what is kept.
    std::shared_ptr<KeptAnswers> kept;
  };
  PosteriorClock(Options options, Transport* transport, Scheduler* scheduler)
      : options_(std::move(options)), transport_(transport), scheduler_(scheduler) {}

  // Fetches the first posterior, then goes on. Call once. Errors: of the call; INTERNAL an answer
  // of another shape.
  absl::Status Start();
  // With `kept`: one fetch. `done` runs when it was answered, or was not.
  void FetchAtStart(std::function<void()> done);
  // Starts nothing more. The owner then stops scheduler and transport.
  void Close() { closed_ = true; }

  // Null before Start.
  std::shared_ptr<const UserPosterior> Latest() const;

 private:
  void Wait();
  void Fetch(const std::function<void(absl::Status)>& done);
  absl::Status Take(const Answer& answer, const v1::GetPosteriorResponse& response);
  absl::Status Parse(const v1::GetPosteriorResponse& response);

  const Options options_;
  Transport* const transport_;
  Scheduler* const scheduler_;
  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const UserPosterior> latest_;
};

}  // namespace bandana::device
