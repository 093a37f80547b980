// The sphere environment of [SS18]'s experiments for tens of millions of rounds: whole blocks of
// rounds at once, arms coordinate after coordinate, in single precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// Rounds [first, first + kBlockRounds). Arms lie side by side: coordinate c of arm a of round t is
// x[c * stride + (t - first) * pool + a]. One object serves many blocks and keeps its memory.
struct SphereBlock {
  std::uint64_t first = 0;
  std::size_t stride = 0;
  std::vector<float> x;
  std::vector<float> expected;  // x . theta* of every arm, at [(t - first) * pool + a]
  std::vector<float> uniform;   // on [0, 1), one per round: the reward's noise
};

// `pool` uniformly random unit arms in R^dimension each round, or the same ones in every round;
// |theta*| = theta_l2 in a random direction; the reward of an arm is +1 with probability
// (1 + x . theta*) / 2, else -1, by one uniform number a round whichever arm is shown. With gap > 0
// an arm other than the round's best whose expected reward is within `gap` of it turns away from
// theta* until it is `gap` below.
//
// A block is a pure function of (options, its index); the same bits on every IEEE machine, since
// arithmetic is in lanes of one order and neither fused nor reassociated. Immutable. Threads: safe.
class SphereRounds {
 public:
  static constexpr int kBlockRounds = 64;
  static constexpr int kDimensionMax = 32;
  static constexpr int kPoolMax = 1024;
  struct Options {
    int dimension = 5;       // [2, kDimensionMax]
    int pool = 25;           // [1, kPoolMax]
    double theta_l2 = 0.75;  // [1e-3, 1]
    double gap = 0;          // reward units; [0, theta_l2]
    bool fixed_arms = false;
    std::uint64_t seed = 1;
  };
  // Errors: INVALID_ARGUMENT names option and range.
  static absl::StatusOr<SphereRounds> Create(const Options& options);

  const Options& options() const { return options_; }
  // theta*, dimension entries. Hidden from any policy.
  const std::vector<double>& theta() const { return theta_; }

  // The block of rounds index * kBlockRounds onwards. Cost: 12 ns per arm at dimension 5.
  void Fill(std::uint64_t index, SphereBlock& block) const;

  // +1 or -1 for arm `a` of round `first + round` of the block.
  double Reward(const SphereBlock& block, int round, int arm) const {
    const float expected = block.expected[static_cast<std::size_t>(round) * options_.pool + arm];
    return block.uniform[round] < (1 + expected) / 2 ? 1 : -1;
  }

 private:
  explicit SphereRounds(const Options& options);
  void KeepGap(SphereBlock& block) const;

  Options options_;
  std::vector<double> theta_;
};

}  // namespace bandana
