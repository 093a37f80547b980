// Frees the effects of keys that are gone, beside the loop of a model of effects.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/bandits/effects/effects_posterior.h"
#include "server/models/freeing/key_freeing.h"
#include "server/models/freeing/pairs_watch.h"

namespace bandana::server {

// Threads: Start before the model serves; then Look on the loop's thread, Step on that of a model
// without one; Finish after the loop.
class EffectFreeing {
 public:
  // `effects` null: a model of another kind. `stepped`: HostedModelOptions.
  EffectFreeing(std::shared_ptr<const EffectsPosterior> effects, std::uint64_t pairs_max,
                bool stepped, const std::function<void(const std::string&)>& warn);

  void Start(std::unique_ptr<KeyFreeing> freeing);
  // At each look at the clock.
  void Look(absl::Time now);
  // Does what is due.
  void Step(absl::Time now);
  // Waits for what has begun.
  void Finish() {
    if (task_.valid()) task_.wait();
  }
  // Keys that were freed before the model served: by entries that were replayed.
  std::uint64_t freed_before() const { return freed_before_; }

 private:
  // Whether effects are to be freed now, by the caller.
  bool Take(absl::Time now);
  void Free(absl::Time now);

  const std::shared_ptr<const EffectsPosterior> effects_;
  const bool stepped_;
  const std::uint64_t freed_before_;
  std::unique_ptr<PairsWatch> watch_;  // of the loop's thread
  std::unique_ptr<KeyFreeing> freeing_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> running_{false};
  std::future<void> task_;  // of the loop's thread until it has stopped
};

}  // namespace bandana::server
