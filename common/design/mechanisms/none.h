// No privacy: nothing is drawn anywhere.
#pragma once

#include "common/design/mechanism.h"

namespace bandana {

MadeMechanism MakeNone(const MechanismRow& row, const PublicSpec& spec);

}  // namespace bandana
