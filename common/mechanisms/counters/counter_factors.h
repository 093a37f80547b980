// The part in which kinds of counters differ: a factorization A = B C of the prefix sums, run as a
// recursion. Design, encoder and decoder are common to all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mechanisms/counters/counter_kind.h"

namespace bandana {

// A row of C is a node: a noisy weighted sum of increments, released at one step and never again.
// The vectors of q coordinates of nodes, sums and buffers lie one after the other.
//
// Immutable. Threads: safe.
class CounterFactors {
 public:
  virtual ~CounterFactors() = default;

  // No step is taken past this one.
  virtual std::uint64_t step_cap() const = 0;
  // Everything that the releases depend on beside grid and noise, as text.
  virtual std::string Describe() const = 0;

  // How many nodes step t in [1, step_cap] releases; 0 is possible.
  virtual std::size_t Nodes(std::uint64_t t) const = 0;
  // Variances of the nodes' noise in units of a common sigma^2: one entry a class of nodes.
  virtual std::vector<std::uint64_t> NoiseMultiples() const { return {1}; }
  virtual std::size_t NoiseClass(std::uint64_t /*t*/, std::size_t /*node*/) const { return 0; }

  // The largest over the events of the sum over nodes of (weight of the event)^2 / multiple, up to
  // step_cap, as real numbers, to a relative error of 1e-13: S^2.
  virtual double SquaredColumn() const = 0;
  // Encoding rounds. All nodes up to step_cap together move, for one coordinate of one replaced
  // event, by at most this in L2 norm beyond the real matrix; in grid steps.
  virtual double Rounding() const { return 0; }

  // The private side. `sums()` vectors of state, all 0 before the first step.
  virtual std::size_t sums() const = 0;
  // No stream can take a sum of that index beyond this magnitude; norm_bound of the grid.
  virtual __int128 SumMax(std::size_t index, std::int64_t norm_bound) const = 0;
  // Moves the state by step t and adds the nodes' un-noised values to `out`, which holds their
  // noise: what is written there is never un-noised. |increment| <= norm_bound <= 2^31.
  virtual void Encode(std::uint64_t t, std::span<const std::int64_t> increment,
                      std::span<__int128> sums, std::span<std::int64_t> out) const = 0;

  // The public side. `buffers()` vectors of state, all 0 before the first step.
  virtual std::size_t buffers() const = 0;
  // Moves the state by the nodes of step t.
  virtual void Decode(std::uint64_t t, std::span<const std::int64_t> nodes, std::size_t dimension,
                      std::span<double> buffers) const = 0;
  // The sum of the increments of steps 1 .. Covered(t), in grid steps.
  virtual void Estimate(std::uint64_t t, std::span<const double> buffers,
                        std::span<double> out) const = 0;
  // The variance of one coordinate of that, in units of the common sigma^2; t in [1, step_cap].
  virtual double SquaredRow(std::uint64_t t) const = 0;
  // The last step, at most t, that the estimate at t covers; 0 if none.
  virtual std::uint64_t Covered(std::uint64_t t) const { return t; }
};

// Errors: INVALID_ARGUMENT horizon or step_cap outside the kind's range (CounterOptions).
absl::StatusOr<std::shared_ptr<const CounterFactors>> MakeCounterFactors(CounterKind kind,
                                                                         std::uint64_t horizon,
                                                                         std::uint64_t step_cap);

// One kind each; the ranges are checked by the function above.
std::shared_ptr<const CounterFactors> MakeTreeFactors(std::uint64_t horizon, bool honaker);
std::shared_ptr<const CounterFactors> MakeHybridFactors(std::uint64_t step_cap);
std::shared_ptr<const CounterFactors> MakeToeplitzFactors(std::uint64_t horizon);
std::shared_ptr<const CounterFactors> MakeBltFactors(std::uint64_t horizon, std::uint64_t step_cap);
std::shared_ptr<const CounterFactors> MakeEpochFactors(std::uint64_t step_cap);

}  // namespace bandana
