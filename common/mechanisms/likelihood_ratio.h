// e^epsilon as an exact fixed-point number that is never too large.
#pragma once

#include "common/accounting/types.h"

namespace bandana {

// The bound R on likelihood ratios, R = numerator / 2^kFractionBits, 1 <= R <= 2^30.
struct LikelihoodRatio {
  static constexpr int kFractionBits = 50;
  static constexpr int kIntegerBitsMax = 30;
  unsigned __int128 numerator = 0;

  // For choosing parameters, never for deciding privacy.
  double Approximate() const;
};

// R <= e^epsilon, and R >= min(e^epsilon, 2^30) (1 - 2^-48). Integer arithmetic, every step rounded
// down: no libm, the same bits on every machine. Above epsilon = 30 ln 2 = 20.79 the bound stays
// 2^30: more privacy than asked. Requires epsilon >= 0.
LikelihoodRatio LargestRatio(Epsilon epsilon);

}  // namespace bandana
