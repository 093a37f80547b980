// Everything about a blt counter that is public and fixed before its first step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/base/sha256.h"
#include "common/mechanisms/counters/blt_tables.h"
#include "common/mechanisms/counters/increment.h"
#include "common/random/discrete_gaussian.h"

namespace bandana {

struct BltOptions {
  std::size_t dimension = 1;  // [1, 2^16]
  double norm_bound = 1;      // of an increment, L2, in the units of the data; > 0, finite
  Rho rho;                    // changes privacy: cost of the whole stream, zCDP; [1e-7, 1e3]
  // Changes accuracy: the number of steps at which the largest error is the least; [1, 2^30].
  std::uint64_t horizon = 1'000'000;
  // Changes accuracy, slightly: no step is taken past this one; [1, 2^40]. The largest column and
  // the rounding are charged up to it.
  std::uint64_t step_cap = std::uint64_t{1} << 30;
};

// Immutable. Threads: safe. Cost to copy: 150 bytes.
class BltDesign {
 public:
  // Fraction bits of the encoder's buffers below the grid.
  static constexpr int kBufferBits = 24;

  // Picks the grid 2^e with sigma near 2^26 steps, and the least integer sigma^2 such that
  //   Delta' = S(step_cap) 2 norm_bound + (1 + 2^-24 sum_i w_i / (1 - theta_i)) sqrt(step_cap q)
  //   rho   >= Delta'^2 / (2 sigma^2)                                            (in grid steps)
  // Errors: INVALID_ARGUMENT an option out of range, or step_cap x dimension so large that the
  // rounding alone would need more noise than the sampler gives.
  static absl::StatusOr<BltDesign> Create(const BltOptions& options);

  const BltTable& table() const { return *table_; }
  const IncrementGrid& grid() const { return grid_; }
  std::uint64_t step_cap() const { return step_cap_; }
  const DiscreteGaussian& noise() const { return noise_; }  // in grid steps
  // rho of all steps up to step_cap together, rounded up; at most the one asked for.
  Rho cost() const { return cost_; }
  // SHA-256 of every number above.
  const Sha256Digest& digest() const { return digest_; }

  // The variance of one coordinate of the decoder's estimate at step t in [1, step_cap], in the
  // squared units of the data.
  double PredictedVariance(std::uint64_t t) const;

 private:
  BltDesign(const BltTable& table, IncrementGrid grid, std::uint64_t step_cap,
            DiscreteGaussian noise, Rho cost);

  const BltTable* table_;
  IncrementGrid grid_;
  std::uint64_t step_cap_;
  DiscreteGaussian noise_;
  Rho cost_;
  Sha256Digest digest_;
};

}  // namespace bandana
