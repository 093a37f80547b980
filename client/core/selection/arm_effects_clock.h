// The effects of a fixed block of arms, fetched by the clock: neither which arms are asked for nor
// when says anything of a decision.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/core/callback.h"
#include "client/core/calls.h"
#include "client/core/kept_answers.h"
#include "client/core/selection/arm_effects.h"
#include "client/core/timers.h"

namespace bandana::device {

// From Start on one fetch each `interval`, whatever the application does; it names the model, the
// tag and the version that the device has. A fetch that fails is not repeated before its time, and
// the block before it stays.
class ArmEffectsClock {
 public:
  struct Options {
    std::string model;
    std::string tag;  // "": every arm
    absl::Duration interval;
    absl::Duration deadline;  // of a page
    // Not null: after the first fetch the others come at starts, and another process goes on with
    // what is kept.
    KeptAnswers* kept = nullptr;
  };
  using Started = Callback<void(const absl::Status&)>;

  // Both outlive it.
  ArmEffectsClock(Options options, Calls* calls, Timers* timers);

  // Fetches the first block and then goes on, unless it was started before; `started` hears of it.
  // A server that says that the model has no such effects, or that does not know of any, is asked
  // no more: that is no error. Errors: of the call, INTERNAL an answer of another shape; then it is
  // not started.
  void Start(Started started);
  // With `kept`: one fetch, if Start was called on this device. `done` runs when it has ended.
  void FetchAtStart(Callback<void()> done);
  // Starts nothing more.
  void Close() { closed_ = true; }

  // Null before Start, and where arms have no effects of their own.
  const std::shared_ptr<const ArmEffects>& Latest() const { return latest_; }

 private:
  struct Fetching;

  void Wait();
  void Fetch(Callback<void(absl::Status)> done);
  void FetchPage(const std::shared_ptr<Fetching>& fetching, std::uint64_t first_arm);
  absl::Status Take(Fetching& fetching, const Answer& answer, const std::string& response,
                    std::uint64_t& next_arm);

  const Options options_;
  Calls* const calls_;
  Timers* const timers_;
  bool closed_ = false;
  bool started_ = false;
  std::vector<Started> starting_;  // wait for the first fetch
  std::shared_ptr<const ArmEffects> latest_;
  bool none_ = false;  // the model has no such effects
};

}  // namespace bandana::device
