#include "server/models/freeing/effect_freeing.h"

#include <utility>

namespace bandana::server {

EffectFreeing::EffectFreeing(std::shared_ptr<const EffectsPosterior> effects,
                             std::uint64_t pairs_max, bool stepped,
                             const std::function<void(const std::string&)>& warn)
    : effects_(std::move(effects)),
      stepped_(stepped),
      freed_before_(effects_ == nullptr ? 0 : effects_->figures().freed) {
  if (effects_ != nullptr) watch_ = std::make_unique<PairsWatch>(pairs_max, warn);
}

void EffectFreeing::Start(std::unique_ptr<KeyFreeing> freeing) {
  freeing_ = std::move(freeing);
  ready_ = true;
}

void EffectFreeing::Look(absl::Time now) {
  if (watch_ != nullptr) watch_->Look(effects_->pairs());
  if (stepped_ || !Take(now)) return;
  task_ = std::async(std::launch::async, [this, now] { Free(now); });
}

void EffectFreeing::Step(absl::Time now) {
  if (Take(now)) Free(now);
}

bool EffectFreeing::Take(absl::Time now) {
  return ready_ && freeing_->due(now) && !running_.exchange(true);
}

void EffectFreeing::Free(absl::Time now) {
  freeing_->Run(now);
  running_ = false;
}

}  // namespace bandana::server
