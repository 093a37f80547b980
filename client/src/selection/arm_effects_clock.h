// The effects of a fixed block of arms, fetched by the clock: neither which arms are asked for nor
// when says anything of a decision.
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
#include "client/src/selection/arm_effects.h"
#include "client/src/store/kept_answers.h"

namespace bandana::device {

// From Start on one fetch each `interval`, whatever the application does; it names the model, the
// tag and the version that the device has. A fetch that fails is not repeated before its time, and
// the block before it stays. Threads: safe; callbacks come from the scheduler's and the transport's
// threads.
class ArmEffectsClock {
 public:
  struct Options {
    std::string model;
    std::string tag;  // "": every arm
    absl::Duration interval;
    absl::Duration deadline;  // of a page
    // Not null: after the first fetch the others come at starts, and another process goes on with
    // what is kept.
    std::shared_ptr<KeptAnswers> kept;
  };
  ArmEffectsClock(Options options, Transport* transport, Scheduler* scheduler);

  // Fetches the first block and then goes on, unless it was started before. A server that says that
  // the model has no such effects, or that does not know of any, is asked no more: that is no
  // error. Errors: of the call, INTERNAL an answer of another shape; then it is not started.
  absl::Status Start();
  // With `kept`: one fetch, if Start was called on this device. `done` runs when it has ended.
  void FetchAtStart(std::function<void()> done);
  // Starts nothing more. The owner then stops scheduler and transport.
  void Close() { closed_ = true; }

  // Null before Start, and where arms have no effects of their own.
  std::shared_ptr<const ArmEffects> Latest() const;

 private:
  struct Fetching;

  void Wait();
  void Fetch(std::function<void(absl::Status)> done);
  void FetchPage(const std::shared_ptr<Fetching>& fetching, std::uint64_t first_arm);
  absl::Status Take(const std::shared_ptr<Fetching>& fetching, const Answer& answer,
                    const v1::GetArmEffectsResponse& page, std::uint64_t& next_arm);

  const Options options_;
  Transport* const transport_;
  Scheduler* const scheduler_;
  std::atomic<bool> closed_{false};
  std::mutex starting_;
  bool started_ = false;  // under starting_
  mutable std::mutex mutex_;
  std::shared_ptr<const ArmEffects> latest_;
  bool none_ = false;  // the model has no such effects
};

}  // namespace bandana::device
