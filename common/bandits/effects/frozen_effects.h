// The state of a model of effects at one moment, for a checkpoint that is written while it learns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/base/byte_sink.h"

namespace bandana {

// Nothing is copied when it is taken. The posterior keeps what its events change from then on, as
// it was, until the object goes: some 2 us per event, and the memory of the blocks that changed.
// Threads: Encode may run beside the writer and the readers of the posterior; the writer waits for
// 1,024 blocks at most, or for the keys of one effect to be listed (20 ms for a million of them).
class FrozenEffects {
 public:
  // For the writer, when no event waits. nullptr while there is another one of this posterior.
  static std::shared_ptr<const FrozenEffects> Take(std::shared_ptr<EffectsPosterior> posterior);
  ~FrozenEffects();
  FrozenEffects(const FrozenEffects&) = delete;
  FrozenEffects& operator=(const FrozenEffects&) = delete;

  // The number of bytes (u64), then what EffectsPosterior::Encode would have given. Errors: those
  // of `sink`.
  absl::Status EncodeBlock(const ByteSink& sink) const;

 private:
  struct Part;
  explicit FrozenEffects(std::shared_ptr<EffectsPosterior> posterior);
  std::vector<Part> TakeParts() const;
  Part TakePart(std::size_t effect) const;

  const std::shared_ptr<EffectsPosterior> posterior_;
  std::string head_;
  std::vector<std::string> effect_heads_;
};

}  // namespace bandana
