// The privacy boundary for rewards: RawReward -> ClippedReward -> PerturbedReward. Only the last
// can be serialized or printed.
#pragma once

#include <cstdint>
#include <optional>

namespace bandana {

class RewardReports;
namespace device {
class Privatizer;
}

// Steps of the input grid: step i stands for the reward min + width * i / kRewardSteps.
inline constexpr std::uint32_t kRewardSteps = 1u << 20;

// What the application saw. Has no operator<<, no formatter and no conversion to a number outside
// this room.
class RawReward {
 public:
  // Missing and NaN rewards are legal: they become the default when clipped.
  explicit RawReward(std::optional<double> value) : value_(value) {}

 private:
  friend class RewardRandomizer;
  friend class ScalarGaussian;
  std::optional<double> value_;
};

// A reward on the input grid, inside the range: the bound is held by the type.
class ClippedReward {
 private:
  friend class RewardRandomizer;
  friend class RewardReports;       // the base of what draws from one
  friend class device::Privatizer;  // holds the step, sealed, between a reaction and its draw
  explicit ClippedReward(std::uint32_t step) : step_(step) {}
  std::uint32_t step_;  // in [0, kRewardSteps]
};

// What may leave the device: an index into the public output grid.
class PerturbedReward {
 public:
  std::uint32_t output() const { return output_; }

 private:
  friend class RewardRandomizer;
  friend class RewardReports;
  explicit PerturbedReward(std::uint32_t output) : output_(output) {}
  std::uint32_t output_;
};

}  // namespace bandana
