// One event's contribution to a stream, made safe to count: integers whose L2 norm provably stays
// within the bound that the noise was calibrated for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"

namespace bandana {

// A public power-of-two grid and a bound on it: an increment is a vector v of `dimension` integers,
// standing for v 2^exponent, with |v|_2 <= norm_bound. Replacing one event by any other moves an
// increment by at most 2 norm_bound grid steps in L2 norm.
struct IncrementGrid {
  // Bounds of norm_bound and dimension; products of the encoders stay within 128 bits.
  static constexpr std::int64_t kNormBoundMax = std::int64_t{1} << 31;
  static constexpr std::size_t kDimensionMax = 1 << 16;

  std::size_t dimension = 0;  // in [1, kDimensionMax]
  int exponent = 0;
  std::int64_t norm_bound = 0;  // in [1, kNormBoundMax]
  friend bool operator==(const IncrementGrid&, const IncrementGrid&) = default;
};

// An increment within its grid's bound; only Clip makes one. Holds private data: cannot be copied,
// compared, printed or serialized; erased when destroyed.
class ClippedIncrement {
 public:
  // Rounds each coordinate of `increment` towards zero to the grid, after scaling the vector down
  // to the bound if it is longer. A vector with a NaN or an infinity becomes 0. Errors:
  // INVALID_ARGUMENT the length is not grid.dimension.
  static absl::StatusOr<ClippedIncrement> Clip(std::span<const double> increment,
                                               const IncrementGrid& grid);

  ~ClippedIncrement();
  ClippedIncrement(ClippedIncrement&&) = default;
  ClippedIncrement& operator=(ClippedIncrement&&) = delete;
  ClippedIncrement(const ClippedIncrement&) = delete;
  ClippedIncrement& operator=(const ClippedIncrement&) = delete;

  const IncrementGrid& grid() const { return grid_; }

  // A running digest of a stream's increments, this one the last: what its noise is bound to
  // (NoiseAddress::input). SHA-256("bandana increment 1" || before || exponent || dimension ||
  // values), integers as 8 bytes little-endian. Before the first increment: 32 zero bytes. Secret
  // as the increments are. Cost: 8 bytes hashed per coordinate.
  Sha256Digest ChainAfter(const Sha256Digest& before) const;

 private:
  friend class CounterEncoder;
  friend struct ClippedIncrementPeer;  // tests
  ClippedIncrement(IncrementGrid grid, std::vector<std::int64_t> values)
      : grid_(grid), values_(std::move(values)) {}

  IncrementGrid grid_;
  std::vector<std::int64_t> values_;
};

// The output of the encoder: noisy integers in grid steps, a run of `dimension` for each node that
// the step completes. Safe to store and send; the decoder needs nothing else.
struct CounterRelease {
  std::uint64_t step = 0;  // from 1
  std::vector<std::int64_t> values;
  friend bool operator==(const CounterRelease&, const CounterRelease&) = default;
};

}  // namespace bandana
