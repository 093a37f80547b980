// Sums of clipped rows in high dimension, and the release of a few of their coordinates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/sealed_state.h"
#include "common/mechanisms/guarantee.h"
#include "common/random/bit_source.h"
#include "common/random/discrete_gaussian.h"

namespace bandana {

// u = sum over rows of a_i b_i, a_i = clip(x_i / context_abs_max) in steps of 2^-8, b_i =
// clip(residual_i / residual_abs_max) in steps of 2^-10, both to [-1, 1]; the number of rows
// whose residual was not clipped; and the sum of one more number per row, its energy, clipped to
// [0, 1] in steps of 2^-10. The whole memory of an episode: rows are not kept.
//
// One row changes each coordinate of u by at most 2, the count and the energy by at most 1,
// whatever it holds: NaN counts as 0. No accessor: only SparseRelease reads the sums; sealed, they
// are for the store of whoever runs the episode. Not thread-safe.
class SparseSums {
 public:
  static constexpr std::uint64_t kRowsMax = std::uint64_t{1} << 40;
  struct Clip {
    double context_abs_max = 1;   // x_max, finite, > 0
    double residual_abs_max = 1;  // R, finite, > 0
  };

  explicit SparseSums(int dimension) : sums_(dimension, 0) {}
  SparseSums(const SparseSums&) = default;
  SparseSums(SparseSums&&) = default;  // leaves no sums behind
  SparseSums& operator=(SparseSums other) noexcept {
    sums_.swap(other.sums_);
    unclipped_ = other.unclipped_;
    energy_ = other.energy_;
    rows_ = other.rows_;
    return *this;
  }
  ~SparseSums();  // erases

  // Requires x.size() == dimension(), fewer than kRowsMax rows before, a clip of positive numbers.
  // Cost: O(d).
  void Add(std::span<const double> x, double residual, double energy, const Clip& clip);
  // Erases: the sums are those of no rows.
  void Clear();

  // The sums between runs of a program. Layout: rows, count, energy, then the d sums, 8 bytes each,
  // little-endian. Whoever stores them checks that they come back whole.
  SealedState Seal() const;
  // Errors: DATA_LOSS another length, or numbers that no rows sum to.
  static absl::StatusOr<SparseSums> Restore(int dimension, std::span<const std::byte> sealed);

  int dimension() const { return static_cast<int>(sums_.size()); }
  std::uint64_t rows() const { return rows_; }  // public: every decision is a row

 private:
  friend class SparseRelease;
  std::vector<std::int64_t> sums_;  // in steps of 2^-18
  std::int64_t unclipped_ = 0;
  std::int64_t energy_ = 0;  // in steps of 2^-10
  std::uint64_t rows_ = 0;
};

// The part of an episode that may be seen.
struct ReleasedSums {
  std::vector<int> coordinates;  // those asked for, then those picked
  std::vector<double> sums;      // noisy u at each, in contributions
  double unclipped = 0;          // noisy number of rows
  double energy = 0;             // noisy sum
  std::uint64_t rows = 0;
};

// Picks coordinates of large |u| by the exponential mechanism, then releases u there, the count of
// unclipped rows and the energy with discrete Gaussian noise.
//
// Privacy:  rho-zCDP for replacement of one row by any other; half of rho to the picks, half to
//           the values, all to the values when nothing is picked. Label `proven`, proof:
//           docs/privacy/fliphat.md.
// Threads:  immutable, const methods are safe, given a source each.
// Source:   [FLIP] Algorithms 1 and 2 with the sensitivity of clipped rows.
class SparseRelease {
 public:
  struct Options {
    int given = 0;       // coordinates whose values are released without picking, >= 0
    int picks = 0;       // further ones to pick, >= 0
    Rho rho;             // (0, 1e6]
    bool scales = true;  // whether count and energy are released; false: they read 0
  };
  // Errors: INVALID_ARGUMENT an option out of range, nothing to release, or a rho so small that the
  // noise passes the sampler's range.
  static absl::StatusOr<SparseRelease> Create(const Options& options);

  // Sensitivity in L2, steps of 2^-18; the cost is rho.
  const MechanismDescriptor& descriptor() const { return descriptor_; }
  // The noise on each released number: on a sum, in contributions; half as much on count and
  // energy.
  double stddev() const;
  double count_stddev() const { return stddev() / 2; }

  // The caller has debited the cost before. Errors: INVALID_ARGUMENT `given` is not of the declared
  // number, out of range or repeated, or too few coordinates are left: nothing drawn; UNAVAILABLE
  // entropy failed, nothing returned.
  absl::StatusOr<ReleasedSums> Release(const SparseSums& sums, std::span<const int> given,
                                       BitSource& bits) const;

 private:
  SparseRelease(const Options& options, DiscreteGaussian noise);
  Options options_;
  DiscreteGaussian noise_;
  MechanismDescriptor descriptor_;
};

}  // namespace bandana
