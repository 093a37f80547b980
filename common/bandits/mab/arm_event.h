// How an event of arms without contexts is written: as the arm's unit vector.
#pragma once

#include <span>

namespace bandana {

// Least probability of a drawn arm that a token may say: Tsallis-INF divides by it.
inline constexpr double kArmProbabilityMin = 0x1p-60;

// The arm that the d features name, -1 unless they are a unit vector.
int ArmOf(std::span<const double> features);

}  // namespace bandana
