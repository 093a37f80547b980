// PRIVUNIT: context and reward as one direction.
#pragma once

#include "common/promise/mechanism.h"

namespace bandana {

// Normals that a device draws for one report at most, on average: about a second.
inline constexpr double kPrivUnitNormalsMax = 1 << 24;

MadeMechanism MakePrivUnit(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana
