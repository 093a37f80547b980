// Local randomization of one bounded reward, pure epsilon.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/base/sha256.h"
#include "common/mechanisms/reward_chain.h"
#include "common/mechanisms/reward_range.h"
#include "common/mechanisms/window_mechanism.h"
#include "common/random/bit_source.h"
#include "common/random/keyed_stream.h"

namespace bandana {

enum class RandomizerKind {
  kRandomizedResponse,  // binary rewards: one bit
  kStochasticRounding,  // real rewards: one bit
  kHybrid,              // real rewards: a mixture of a window mechanism and one bit
};

// Randomizes s = (2r - max - min) / (max - min) in [-1, 1] to an output with an unbiased value.
//
// One bit: P(1) = 1/2 + s/(2c), c = (e^eps + 1)/(e^eps - 1), values +-c; variance c^2 - s^2 in
// units of s.
// Hybrid: with probability a the window mechanism (window_mechanism.h), the piecewise mechanism of
// [WH19] on a finite grid, else one bit. Create chooses a and the window's width together for the
// least worst-case variance. [WH19] take the width that is best for the piecewise mechanism alone;
// ours gives 0.982 at eps = 2 where theirs gives 1.042.
//
// Probabilities are integers over 2^63; likelihood ratios are at most e^eps exactly, and Create
// checks that on its own tables. The tables are a function of (epsilon, binary, kind) alone, the
// same bits on every IEEE machine, so that device and server agree. r' is unbiased for the reward
// rounded to the input grid, which moves it by at most width / 2^21.
//
// Immutable after Create. Threads: const methods are safe.
// Guarantee: proven, docs/privacy/reward_randomizer.md.
// Cost: Create of a hybrid 0.5 ms and 8 kB; Randomize one word of entropy, four divisions.
class RewardRandomizer {
 public:
  // Steps of the input grid: step i stands for the reward min + width * i / kInputSteps.
  static constexpr std::uint32_t kInputSteps = kRewardSteps;
  // The common denominator of all probabilities.
  static constexpr std::uint64_t kMassTotal = std::uint64_t{1} << 63;
  // Below it the 2^63 units of probability are too coarse to tell two rewards apart with little
  // error.
  static constexpr double kEpsilonMin = 1e-6;

  struct Options {
    Epsilon epsilon;  // [kEpsilonMin, kEpsilonResearchMax]; above 20.79 it counts as 20.79
    RewardRange range;
    bool binary =
        false;  // every reward is range.min or range.max (others are rounded to the nearer)
  };
  // Chooses the kind of the least worst-case variance: randomized response for binary rewards; for
  // real rewards one bit up to about eps = 0.62 and the hybrid, where it is at least 0.1 % better,
  // above. Errors: INVALID_ARGUMENT epsilon or range.
  static absl::StatusOr<RewardRandomizer> Create(const Options& options);
  // The named kind, for tests, tables and the lab. Errors: INVALID_ARGUMENT, also for randomized
  // response of rewards that are not binary; INTERNAL the tables failed their own check.
  static absl::StatusOr<RewardRandomizer> CreateKind(const Options& options, RandomizerKind kind);

  const Options& options() const { return options_; }
  RandomizerKind kind() const { return kind_; }
  const RewardRange& range() const { return options_.range; }
  // Totals sum to kMassTotal; outputs are numbered in this order.
  const std::vector<WindowMechanism>& components() const { return components_; }
  // Number of outputs; outputs are 0 .. outputs() - 1. 2 for one bit, at most 1026 for the hybrid.
  std::uint32_t outputs() const { return static_cast<std::uint32_t>(values_.size()); }
  // r', the unbiased value of an output, reward units; may lie outside the range. Requires output <
  // outputs().
  double Value(std::uint32_t output) const { return ValueIn(options_.range, output); }
  // Largest variance of r' over rewards in the range (over its two ends when binary), reward units
  // squared. The server's v_r.
  double VarianceMax() const { return VarianceMaxIn(options_.range); }
  // As above for a reward that was clipped to `window` instead of the range: the tables do not
  // depend on it.
  double ValueIn(const RewardRange& window, std::uint32_t output) const;
  double VarianceMaxIn(const RewardRange& window) const;
  // The exact law of Randomize for the input step: probability masses over kMassTotal, one an
  // output. Requires step <= kInputSteps.
  std::vector<std::uint64_t> Masses(std::uint32_t step) const;
  // SHA-256 of the integers that Masses are made of: "bandana randomizer table 1", then 8 bytes
  // little-endian each: the number of components, and of each, in the order of their outputs,
  // steps, positions, width, grain, high and low (window_mechanism.h).
  Sha256Digest TableDigest() const;

  // Clips: missing and NaN become `default_reward` (itself clipped; a NaN default is range.min),
  // out of range moves to the bound, the rest to the nearest step (binary: to the nearer end, the
  // middle to max).
  ClippedReward Clip(const RawReward& reward, double default_reward) const {
    return ClipTo(options_.range, reward, default_reward);
  }
  // As Clip, with `window`, min < max, in the range's place. It must not depend on the reward.
  ClippedReward ClipTo(const RewardRange& window, const RawReward& reward,
                       double default_reward) const;
  // The input that keyed bits for this reward are bound to (NoiseAddress::input): SHA-256 of
  // "bandana clipped reward 1" and the step, 8 bytes little-endian. Tells the reward to anyone who
  // tries all steps: for an address alone.
  NoiseInput InputOf(const ClippedReward& reward) const;
  // Draws once: one 64-bit word, no loop, no branch on the reward. The caller has debited epsilon
  // durably before. Errors: UNAVAILABLE entropy failed, nothing returned.
  absl::StatusOr<PerturbedReward> Randomize(const ClippedReward& reward, BitSource& bits) const;

 private:
  RewardRandomizer(const Options& options, RandomizerKind kind,
                   std::vector<WindowMechanism> components);
  std::uint32_t OutputOf(std::uint32_t step, std::uint64_t draw) const;
  double SVarianceMax() const;

  Options options_;
  RandomizerKind kind_;
  std::vector<WindowMechanism> components_;  // totals sum to kMassTotal; outputs in this order
  std::vector<double> values_;               // of each output, as s
  double variance_max_ = 0;                  // of s
};

}  // namespace bandana
