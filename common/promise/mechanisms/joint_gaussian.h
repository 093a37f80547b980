// JOINT_GAUSSIAN: context and reward as integers with Gaussian noise.
#pragma once

#include "common/promise/mechanism.h"

namespace bandana {

// Features at most: a report is then 8384 integers, 42 kB on the wire and 67 kB in the log.
// PRIVUNIT's 16 bytes serve every dimension.
inline constexpr int kJointGaussianDimensionMax = 128;

MadeMechanism MakeJointGaussian(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana
