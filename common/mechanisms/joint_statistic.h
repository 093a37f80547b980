// The statistic of local privacy of context and reward, on an integer grid.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/mechanisms/statistics_chain.h"

namespace bandana {

// Largest variances, whatever the event, in a report's estimates: of a diagonal entry of x x', of
// an entry of r x. Squared units of the data; 0 for reports without noise.
struct ReportVariance {
  double gram = 0;
  double moment = 0;
};

// The estimate that a noisy phi gives of one event or of a sum of them, in units of the data.
struct JointEstimate {
  std::vector<double> gram;    // of x x^T: the lower triangle row by row, d (d + 1) / 2
  std::vector<double> moment;  // of r x: d
};

// phi(x, r) = (x x^T packed, r x) of the clipped and scaled x / L, r / R: |x| <= 1, |r| <= 1.
//
// Shape: D = d (d + 1) / 2 + d. First the upper triangle row by row, off-diagonal entries times
// sqrt(2) (an isometry of the Frobenius norm, so that noise is not spent twice on them), then r x.
// Sensitivity, replacement of one (x, r) by any other: |phi - phi'|_2 <= 1.5 sqrt(2) for d >= 2,
// attained at |cos(x, x')| = 1/2, and 2 for d = 1. The grid adds less than one step per coordinate
// to each side; both are in l2_sensitivity(). Proof: docs/privacy/joint_gaussian.md.
// Immutable. Threads: safe.
class JointStatistic {
 public:
  static constexpr int kGridBitsMin = 8;
  static constexpr int kGridBitsMax = 26;
  struct Options {
    int dimension = 0;          // d, [1, kDimensionMax]
    double context_l2_max = 1;  // L > 0; longer x are scaled down to it
    double reward_abs_max = 1;  // R > 0; r is clipped to [-R, R]
    int grid_bits = 20;  // [8, 26]: a step of phi is 2^-grid_bits. Smaller: room for very small
                         // epsilon, more rounding. Larger: room for large epsilon. JointGridBits
                         // (noise_grid.h) chooses for a Gaussian
  };
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<JointStatistic> Create(const Options& options);

  // D.
  std::size_t size() const;
  double context_l2_max() const { return options_.context_l2_max; }
  double reward_abs_max() const { return options_.reward_abs_max; }
  int grid_bits() const { return options_.grid_bits; }
  // In grid steps, rounded up. L1 is sqrt(D) times L2.
  L2Sensitivity l2_sensitivity() const { return {l2_sensitivity_}; }
  L1Sensitivity l1_sensitivity() const { return {l1_sensitivity_}; }

  // Clips and packs. Features that are NaN or infinite, or of another dimension than d, give 0, as
  // does a missing or NaN reward: nothing about the values is ever an error.
  ClippedStatistics Clip(const RawInteraction& interaction) const;

  // The inverse of the packing and the scaling, linear in `phi`: no clipping. phi in units (not
  // grid steps), released or estimated. Requires phi.size() == size().
  JointEstimate Unpack(std::span<const double> phi) const;

 private:
  explicit JointStatistic(const Options& options);
  Options options_;
  double l2_sensitivity_;
  double l1_sensitivity_;
};

}  // namespace bandana
