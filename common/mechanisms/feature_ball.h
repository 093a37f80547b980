// The ball |x|_2 <= feature_l2_max that features are clipped to: one rule for requests, catalogues
// and devices, so that a device refuses and scales what the server would.
#pragma once

#include <span>

namespace bandana {

// Norms above the bound by no more than this factor are rounding of a vector that its sender
// scaled to the bound: clipped without being counted or rejected.
inline constexpr double kNormSlack = 1 + 1e-9;

enum class BallFit {
  kInside,
  kRounding,  // outside by no more than kNormSlack
  kOutside,
  kNotFinite,  // has a NaN or infinite feature
};

// False also for NaN and infinity. The squares are added in a fixed order.
bool InBall(std::span<const double> x, double l2_max);

// Scales `x` onto the ball where it lies outside, so that InBall holds afterwards, and says where
// it was. Features that are not finite stay as they are. Mechanisms do not rely on this: they clip
// what they add up once more, in integers (integer_clip.h). Requires l2_max > 0.
BallFit ClipToBall(std::span<double> x, double l2_max);

}  // namespace bandana
