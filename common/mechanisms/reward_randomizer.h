// Local randomization of one bounded reward, pure epsilon (MECHANISMS section 5b), and the types that keep the order:
// RawReward -> ClippedReward -> PerturbedReward. Only the last can be serialized or printed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/random/bit_source.h"

namespace bandana {

// The enforced reward range, min < max, both finite.
struct RewardRange {
  double min = 0;
  double max = 1;
  double width() const { return max - min; }
};

// What the application saw. Has no operator<<, no formatter and no conversion to a number outside this room.
class RawReward {
 public:
  // Missing and NaN rewards are legal: they become the default when clipped.
  explicit RawReward(std::optional<double> value) : value_(value) {}

 private:
  friend class RewardRandomizer;
  std::optional<double> value_;
};

// A reward on the randomizer's input grid, inside the range: the bound is held by the type.
class ClippedReward {
 private:
  friend class RewardRandomizer;
  explicit ClippedReward(std::uint32_t step) : step_(step) {}
  std::uint32_t step_;  // in [0, kInputSteps]: reward = min + width * step / kInputSteps
};

// What may leave the device: an index into the public output grid.
class PerturbedReward {
 public:
  std::uint32_t output() const { return output_; }

 private:
  friend class RewardRandomizer;
  explicit PerturbedReward(std::uint32_t output) : output_(output) {}
  std::uint32_t output_;
};

enum class RandomizerKind {
  kRandomizedResponse,   // binary rewards: one bit
  kStochasticRounding,   // real rewards, one bit
  kHybrid,               // real rewards, [WH19] hybrid of the piecewise mechanism and one bit, on a finite grid
};

// Immutable after Create. Threads: const methods are safe. Guarantee: proven, docs/privacy/reward_randomizer.md.
class RewardRandomizer {
 public:
  struct Options {
    Epsilon epsilon;            // (0, kEpsilonResearchMax]
    RewardRange range;
    bool binary = false;        // every reward is range.min or range.max (others are rounded to the nearer)
  };
  // Chooses the kind of the least worst-case variance. Errors: INVALID_ARGUMENT.
  static absl::StatusOr<RewardRandomizer> Create(const Options& options);
  // The named kind, for tests, tables and the lab.
  static absl::StatusOr<RewardRandomizer> CreateKind(const Options& options, RandomizerKind kind);

  RandomizerKind kind() const;
  const RewardRange& range() const;
  // Number of outputs; outputs are 0 .. outputs() - 1.
  std::uint32_t outputs() const;
  // r', the unbiased value of an output, reward units; may lie outside the range. Requires output < outputs().
  double Value(std::uint32_t output) const;
  // Largest variance of r' over rewards in the range, reward units squared. The server's v_r.
  double VarianceMax() const;

  // Clips: missing and NaN become `default_reward` (itself clipped), out of range moves to the bound.
  ClippedReward Clip(const RawReward& reward, double default_reward) const;
  // Draws once. The caller has debited epsilon durably before. Errors: UNAVAILABLE entropy failed, nothing returned.
  absl::StatusOr<PerturbedReward> Randomize(const ClippedReward& reward, BitSource& bits) const;
};

}  // namespace bandana
