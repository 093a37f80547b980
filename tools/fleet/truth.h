// Lines of --truth: what every arm of a decision was worth.
#pragma once

#include <cstdint>
#include <string>

#include "bandana/client.h"
#include "tools/environments/environment.h"

namespace bandana {

// Appends a line of JSON: round, user, arms (ids, where they have some), expected (of every arm,
// reward units), chosen (position) and p (its propensity). Numbers read back as the same doubles.
// Requires arms, and a selection of one of them.
void AppendTruth(std::uint64_t round, const Choice& decision, const RankedArm& chosen,
                 std::string& text);

}  // namespace bandana
