// The privacy boundary for vectors: RawInteraction -> ClippedStatistics -> PerturbedStatistics or
// PerturbedDirection. Only the last can be serialized or printed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bandana {

// The interaction that the application saw: the chosen arm's features and the reward. No accessor
// outside this room.
class RawInteraction {
 public:
  // A missing or NaN reward is legal: it counts as 0. So is a NaN feature: the statistics are 0.
  RawInteraction(std::vector<double> features, std::optional<double> reward)
      : features_(std::move(features)), reward_(reward) {}

 private:
  friend class JointStatistic;
  std::vector<double> features_;
  std::optional<double> reward_;
};

// An integer vector whose sensitivity is held by the type: any two that the same statistic makes
// differ by at most the L2 sensitivity, in grid steps.
class ClippedStatistics {
 private:
  friend class JointCounter;
  friend class JointStatistic;
  friend class GaussianMechanism;
  friend class LaplaceMechanism;
  friend class PrivUnit;
  friend class ScalarGaussian;
  friend struct ClippedStatisticsPeer;  // the audit's worst cases and mutants
  ClippedStatistics(std::vector<std::int64_t> grid, double l2_sensitivity, double l1_sensitivity,
                    int log2_step)
      : grid_(std::move(grid)),
        l2_sensitivity_(l2_sensitivity),
        l1_sensitivity_(l1_sensitivity),
        log2_step_(log2_step) {}
  std::vector<std::int64_t> grid_;
  double l2_sensitivity_;
  double l1_sensitivity_;
  int log2_step_;
};

// A value that may leave the device: integers, and the public power of two they count.
class PerturbedStatistics {
 public:
  std::span<const std::int64_t> grid() const { return grid_; }
  int log2_step() const { return log2_step_; }

 private:
  friend class GaussianMechanism;
  friend class LaplaceMechanism;
  PerturbedStatistics(std::vector<std::int64_t> grid, int log2_step)
      : grid_(std::move(grid)), log2_step_(log2_step) {}
  std::vector<std::int64_t> grid_;
  int log2_step_;
};

// 128 public bits that name a direction (KeyedStream::FromPublicSeed).
using PublicSeed = std::array<std::byte, 16>;

// A value that may leave the device: the seed of an accepted direction. Only a mechanism makes one,
// from seeds of its own source.
class PerturbedDirection {
 public:
  const PublicSeed& seed() const { return seed_; }

 private:
  friend class PrivUnit;
  explicit PerturbedDirection(const PublicSeed& seed) : seed_(seed) {}
  PublicSeed seed_;
};

}  // namespace bandana
