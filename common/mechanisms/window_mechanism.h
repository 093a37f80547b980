// A local randomizer with two likelihood levels and integer probabilities: the discrete piecewise
// mechanism of [WH19], whose special case of two cells is one-bit stochastic rounding (and
// randomized response at the two end inputs).
//
//   inputs     steps 0 .. N, standing for s = 2 step / N - 1 in [-1, 1]
//   positions  0 .. J, J divides N: knot j is the input step j N / J
//   cells      0 .. J + w - 1; at position j the window is the w cells j .. j + w - 1
//   law        at position j a cell has mass `high` inside the window and `low` outside, w high + J
//   low = M = J grain.
//              Between knots the position is rounded up or down at random, so that masses are
//              linear in the step: Mass(step, cell) = (F - f) mass_j(cell) + f mass_{j+1}(cell), F
//              = N / J, step = j F + f.
//   value      v(cell) = (2 cell - (J + w - 1)) M / (J w (high - low)).
//
// The sum of v over a window grows linearly in its position, and the sum over all cells is 0; hence
// E v = s exactly at every step, whatever integers `high` and `low` are. The likelihood ratio of
// any two inputs at any cell is at most high / low.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mechanisms/likelihood_ratio.h"

namespace bandana {

// Immutable. Threads: const methods are safe. Cost of Create: O(J (J + w)).
class WindowMechanism {
 public:
  struct Shape {
    std::uint32_t steps = 0;      // N, [1, 2^24]
    std::uint32_t positions = 1;  // J, divides N, [1, 2^12]
    std::uint32_t width = 1;      // w, [1, 2^12]
    std::uint64_t grain =
        0;  // [1, 2^63 / N] and at most 2^47: probability units for one input step
  };
  // Takes the largest `high` with high <= ratio * low, then checks every pair of inputs at every
  // cell. Errors: INVALID_ARGUMENT shape, or a ratio too close to 1 for the grain; INTERNAL the
  // check failed (fails closed).
  static absl::StatusOr<WindowMechanism> Create(const Shape& shape, const LikelihoodRatio& ratio);

  std::uint32_t cells() const { return shape_.positions + shape_.width; }
  std::uint64_t high() const { return high_; }
  std::uint64_t low() const { return low_; }
  const Shape& shape() const { return shape_; }
  // Sum of the masses of any input, grain * N.
  std::uint64_t total() const { return shape_.grain * shape_.steps; }

  // Mass of a cell. Requires step <= N, cell < cells().
  std::uint64_t Mass(std::uint32_t step, std::uint32_t cell) const;
  // The cell that a uniform `draw` selects: of the draws in [0, total()), exactly Mass(step, c)
  // give c. No branch and no memory access depends on the step. Requires step <= N, draw < total().
  std::uint32_t Cell(std::uint32_t step, std::uint64_t draw) const;
  // v(cell), in units of s.
  double Value(std::uint32_t cell) const;
  // E v^2 at each knot 0 .. J; linear in the step between knots.
  std::vector<double> SecondMoments() const;

 private:
  WindowMechanism(const Shape& shape, std::uint64_t high, std::uint64_t low)
      : shape_(shape), high_(high), low_(low) {}
  std::uint64_t KnotMass(std::uint32_t position, std::uint32_t cell) const {
    return cell >= position && cell < position + shape_.width ? high_ : low_;
  }
  // INTERNAL unless the masses of every knot sum to M and max <= ratio * min over the knots at
  // every cell. Other inputs are mixtures of two knots, so that both then hold for all inputs.
  absl::Status Verify(const LikelihoodRatio& ratio) const;

  std::uint64_t steps_per_position() const { return shape_.steps / shape_.positions; }
  std::uint64_t knot_total() const { return shape_.grain * shape_.positions; }  // M

  Shape shape_;
  std::uint64_t high_;
  std::uint64_t low_;
};

// True if a <= ratio * b, exactly. Requires b < 2^47.
bool WithinRatio(std::uint64_t a, std::uint64_t b, const LikelihoodRatio& ratio);

}  // namespace bandana
