// The table of mechanisms: one row each.
#pragma once

#include <span>

#include "common/design/mechanism.h"

namespace bandana {

std::span<const MechanismRow> Mechanisms();
// The row of a mechanism for a mode; nullptr: it is not for it.
const MechanismRow* FindMechanism(v1::Mechanism id, v1::Mode mode);

}  // namespace bandana
