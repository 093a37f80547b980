// The table of mechanisms: one row each.
#pragma once

#include <span>

#include "common/design/mechanism.h"

namespace bandana {

std::span<const MechanismRow> Mechanisms();
// The row of a mechanism for a mode; nullptr: it is not for it.
const MechanismRow* FindMechanism(v1::Mechanism id, v1::Mode mode);
// The first row of a private mechanism, for whatever mode; nullptr: AUTO, or not one that this
// version knows.
const MechanismRow* FindMechanism(v1::Mechanism id);
// Whether models of the family may have it.
bool Serves(const MechanismRow& row, std::string_view family);
// What AUTO is without a planner: the first row for mode and family, or for the mode where none is
// for both. Requires a private mode.
const MechanismRow& DefaultMechanism(v1::Mode mode, std::string_view family);

}  // namespace bandana
