// No privacy: nothing is drawn anywhere.
#pragma once

#include "common/promise/mechanism.h"

namespace bandana {

MadeMechanism MakeNone(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana
