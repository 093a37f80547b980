// The event that a decision's token describes.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "common/design/model_spec.h"
#include "common/model/entries/decision.h"
#include "common/model/entries/records.h"

namespace bandana::server {

// A token carries its time in microseconds; the entry that Select appended must agree with it.
absl::Time TokenTime(const Decision& decision);

// Views into the decision. Requires that it has the arm of rank `shown` (ArmOfRank).
EventRecord EventOf(const Decision& decision, std::uint32_t shown);

// A token that this server sealed always fits; one that does not is treated like a damaged one.
bool FitsModel(const ModelSpec& spec, const Decision& decision);

// Whether a report may be of the arm of this rank. Private models with a window: of the one that
// Select named alone; another one would tell of the reaction.
bool MayShow(const ModelSpec& spec, const Decision& decision, std::uint32_t shown);

}  // namespace bandana::server
