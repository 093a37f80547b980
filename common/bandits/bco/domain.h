// Where continuous actions live.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace bandana {

// A ball |x|_2 <= radius or a box |x|_inf <= radius about 0.
struct ConvexDomain {
  enum class Kind { kBall, kBox };
  Kind kind = Kind::kBall;
  int dimension = 0;  // [1, kDimensionMax]
  double radius = 1;  // (0, kScaleMax]

  // Errors: INVALID_ARGUMENT.
  absl::Status Validate() const;
  // The largest |x|_2.
  double outer_radius() const {
    return kind == Kind::kBall ? radius : radius * std::sqrt(static_cast<double>(dimension));
  }
  // Is x in `scale` times the domain, up to a rounding error of 1e-9 of it? False for another
  // dimension or NaN.
  bool Contains(std::span<const double> x, double scale = 1) const;
  // The nearest point of `scale` times the domain. Requires x finite, of `dimension` entries.
  void Project(std::vector<double>& x, double scale = 1) const;
};

}  // namespace bandana
