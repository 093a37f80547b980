// The privacy boundary for rewards: RawReward -> ClippedReward -> PerturbedReward. Only the last
// can be serialized or printed.
#pragma once

#include <cstdint>
#include <optional>

#include "common/mechanisms/reward_range.h"
#include "common/random/keyed_stream.h"

namespace bandana {

class RewardReports;
namespace device {
class Privatizer;
}

// Steps of the input grid: step i stands for the reward min + width * i / kRewardSteps.
inline constexpr std::uint32_t kRewardSteps = 1u << 20;

// The reward that the application saw. Has no operator<<, no formatter and no conversion to a
// number outside this room.
class RawReward {
 public:
  // Missing and NaN rewards are legal: they become the default when clipped.
  explicit RawReward(std::optional<double> value) : value_(value) {}

 private:
  friend class RewardClip;
  friend class RewardRandomizer;
  friend class ScalarGaussian;
  std::optional<double> value_;
};

// A reward on the input grid, inside the range: the bound is held by the type.
class ClippedReward {
 private:
  friend class RewardClip;
  friend class RewardRandomizer;
  friend class RewardReports;       // the base of what draws from one
  friend class device::Privatizer;  // holds the step, sealed, between a reaction and its draw
  explicit ClippedReward(std::uint32_t step) : step_(step) {}
  std::uint32_t step_;  // in [0, kRewardSteps]
};

// A value that may leave the device: an index into the public output grid.
class PerturbedReward {
 public:
  std::uint32_t output() const { return output_; }

 private:
  friend class RewardRandomizer;
  friend class RewardReports;
  explicit PerturbedReward(std::uint32_t output) : output_(output) {}
  std::uint32_t output_;
};

// From the first to the second, the same for every mechanism.
class RewardClip {
 public:
  // Missing and NaN become `default_reward` (itself clipped; a NaN default is window.min), out of
  // the window moves to its bound, the rest to the nearest step. The window, min < max, must not
  // depend on the reward.
  static ClippedReward ToGrid(const RewardRange& window, const RawReward& reward,
                              double default_reward);
  // The input that keyed bits for this reward are bound to (NoiseAddress::input): SHA-256 of
  // "bandana clipped reward 1" and the step, 8 bytes little-endian. Tells the reward to anyone who
  // tries all steps: for an address alone.
  static NoiseInput InputOf(const ClippedReward& reward);
};

}  // namespace bandana
