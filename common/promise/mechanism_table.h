// The table of mechanisms: one row each.
#pragma once

#include <span>

#include "common/promise/mechanism.h"

namespace bandana {

std::span<const MechanismRow> Mechanisms();
// The row of a mechanism for a mode; nullptr: it is not for it.
const MechanismRow* FindMechanism(MechanismId id, Mode mode);
// The first row of a private mechanism, for whatever mode; nullptr: AUTO, or not one that this
// version knows.
const MechanismRow* FindMechanism(MechanismId id);

}  // namespace bandana
