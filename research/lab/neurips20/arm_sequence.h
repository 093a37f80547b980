// Rewards of arms without contexts, one arm better than all others by the same gap in every round.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

enum class ArmLaw {
  // Every reward is 1 with probability 1/2 + gap / 2 (the best arm) or 1/2 - gap / 2.
  kStochastic,
  // The stochastically constrained adversary of [ZS21]'s experiments: phases of 1.6^n rounds whose
  // means are in turn 1 and 1 - gap, and gap and 0. The gap stays, everything else moves: what an
  // arm gave in one phase says nothing about another arm in the next.
  kAdversarial,
};
// `stochastic` or `adversarial`. Errors: INVALID_ARGUMENT.
absl::StatusOr<ArmLaw> ParseArmLaw(std::string_view name);

// Rewards are 0 or 1; the best arm is drawn from `seed`. A pure function of (options, round, arm).
// Immutable. Threads: safe.
class ArmSequence {
 public:
  struct Options {
    ArmLaw law = ArmLaw::kStochastic;
    int arms = 10;     // [1, 100,000]
    double gap = 0.1;  // [0, 1]
    std::uint64_t seed = 1;
  };
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<ArmSequence> Create(const Options& options);

  int best() const { return best_; }
  // Expected reward.
  double Mean(std::uint64_t round, int arm) const;
  // 0 or 1; the same draw decides for all arms.
  double Reward(std::uint64_t round, int arm) const;

 private:
  explicit ArmSequence(const Options& options);
  Options options_;
  int best_;
  std::vector<std::uint64_t> phase_ends_;
};

}  // namespace bandana
