// Binary-tree counters [CSS11], and the better estimate of the same releases [H15].
//
// Node (h, i) is the sum of the increments of steps i 2^h + 1 .. (i + 1) 2^h. It is released once,
// with its own noise, at the step that completes it, and never again: the decoder keeps it. So
// nothing can ever draw fresh noise for a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/base/sha256.h"
#include "common/mechanisms/counters/increment.h"
#include "common/mechanisms/counters/sealed_state.h"
#include "common/random/bit_source.h"
#include "common/random/discrete_gaussian.h"

namespace bandana {

struct TreeOptions {
  std::size_t dimension = 1;      // [1, 2^16]
  double norm_bound = 1;          // of an increment, L2, in the units of the data; > 0, finite
  Rho rho;                        // changes privacy: cost of the whole stream; [1e-7, 1e3]
  std::uint64_t horizon = 1'000;  // no step is taken past this one; [1, 2^30]
};

// What is public and fixed before the first step. Immutable. Threads: safe.
class TreeDesign {
 public:
  // Every event lies in `levels` = floor(log2 horizon) + 1 nodes at most, and nothing is rounded:
  // Delta' = 2 norm_bound sqrt(levels), sigma^2 the least integer >= Delta'^2 / (2 rho), in steps
  // of a grid 2^e with sigma near 2^26. Errors: INVALID_ARGUMENT an option out of range.
  static absl::StatusOr<TreeDesign> Create(const TreeOptions& options);

  const IncrementGrid& grid() const { return grid_; }
  std::uint64_t horizon() const { return horizon_; }
  int levels() const { return levels_; }
  const DiscreteGaussian& noise() const { return noise_; }
  Rho cost() const { return cost_; }  // of all steps together, rounded up
  const Sha256Digest& digest() const { return digest_; }

 private:
  TreeDesign(IncrementGrid grid, std::uint64_t horizon, int levels, DiscreteGaussian noise,
             Rho cost);

  IncrementGrid grid_;
  std::uint64_t horizon_;
  int levels_;
  DiscreteGaussian noise_;
  Rho cost_;
  Sha256Digest digest_;
};

// The private side. A release of step t holds the nodes of height 0, 1, .., ctz(t) that t
// completes, one run of `dimension` values each. What BltEncoder asks of its caller holds here,
// too. Threads: not thread-safe. Memory: 16 bytes x levels x dimension, erased when destroyed.
class TreeEncoder {
 public:
  explicit TreeEncoder(const TreeDesign& design);
  // Errors: as BltEncoder::Restore.
  static absl::StatusOr<TreeEncoder> Restore(const TreeDesign& design,
                                             std::span<const std::byte> sealed);

  TreeEncoder(TreeEncoder&&) = default;
  TreeEncoder& operator=(TreeEncoder&&) = delete;

  // Errors: as BltEncoder::Step. On error nothing is released and the state is as before.
  absl::StatusOr<CounterRelease> Step(const ClippedIncrement& increment, BitSource& bits);

  std::uint64_t step() const { return state_.step; }
  SealedState Seal() const { return SealState(design_.digest(), state_); }

 private:
  TreeDesign design_;
  EncoderState state_;  // sums: the open node of each height, one run of `dimension` each
};

// The public side. Threads: not thread-safe. Memory: 8 bytes x levels x dimension.
class TreeDecoder {
 public:
  enum class Estimator {
    kPlain,    // a node is estimated by its own release
    kHonaker,  // by its release and its children's estimates, weighted by their variances
  };
  TreeDecoder(const TreeDesign& design, Estimator estimator);

  // The next release. Errors: as BltDecoder::Push; FAILED_PRECONDITION also past the horizon.
  absl::Status Push(const CounterRelease& release);

  std::uint64_t step() const { return step_; }
  // The sum of all increments up to step(), in the units of the data.
  std::vector<double> Estimate() const;
  // The variance of one coordinate of Estimate at step t in [1, horizon], in squared units of the
  // data.
  double PredictedVariance(std::uint64_t t) const;

 private:
  TreeDesign design_;
  Estimator estimator_;
  std::uint64_t step_ = 0;
  std::vector<double> nodes_;  // estimate of the last completed node of each height, in grid steps
};

}  // namespace bandana
