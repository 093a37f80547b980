// Convex losses of points, a new one each round.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

enum class LossShape {
  kCone,       // |x - x*| / 2: as sharp as a Lipschitz loss can be at its minimum
  kQuadratic,  // |x - x*|^2 / 2: smooth
};
// `cone` or `quadratic`. Errors: INVALID_ARGUMENT.
absl::StatusOr<LossShape> ParseLossShape(std::string_view name);

// f_t(x) = shape(x) + <g_t, x> / 2, g_t uniform on the unit sphere, independent of all others: the
// expected loss is the shape, whose minimum 0 lies at x*, |x*| = 1/2, drawn from `seed`. A pure
// function of (options, round, x). Immutable. Threads: safe.
class ConvexLosses {
 public:
  struct Options {
    LossShape shape = LossShape::kCone;
    int dimension = 2;        // [1, 256]
    double outer_radius = 1;  // the largest |x|_2 that is asked for; [0.5, 1e3]
    std::uint64_t seed = 1;
  };
  // Errors: INVALID_ARGUMENT.
  static absl::StatusOr<ConvexLosses> Create(const Options& options);

  std::span<const double> minimiser() const { return minimiser_; }
  // Requires x of `dimension` entries, both.
  double Expected(std::span<const double> x) const;
  double Value(std::uint64_t round, std::span<const double> x) const {
    return Expected(x) + Slope(round, x);
  }

  // Bounds for |x| <= outer_radius.
  double lipschitz() const;
  double value_min() const { return -options_.outer_radius / 2; }
  double value_max() const;
  // Lipschitz constant of the gradient; 1 for the cone, where there is none.
  double smoothness() const { return 1; }

 private:
  explicit ConvexLosses(const Options& options);
  double Slope(std::uint64_t round, std::span<const double> x) const;
  Options options_;
  std::vector<double> minimiser_;
};

}  // namespace bandana
