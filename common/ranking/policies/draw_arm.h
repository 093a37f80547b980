// Draws an arm by a law.
#pragma once

#include <span>

namespace bandana {

// The arm that `uniform` in [0, 1) falls on: the first whose cumulative probability exceeds it.
// Requires at least one positive probability; an arm of probability 0 is never chosen.
int DrawArm(std::span<const double> probabilities, double uniform);

}  // namespace bandana
