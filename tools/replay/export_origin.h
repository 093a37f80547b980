// Which decisions of a log an exported model may have learnt from.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// Where an export stands. It holds no time of what it has learnt, and not which models it is a copy
// of.
struct ExportOrigin {
  std::string instance;        // of the model, in hex
  std::uint64_t sequence = 0;  // of the newest entry of its log that it has learnt; 0: none
  absl::Time written;          // when the file was written: nothing that it has learnt is younger
};

// Clocks of machines differ by less.
inline constexpr absl::Duration kExportClockError = absl::Minutes(1);

// False: it has not, for sure. A decision of the export's own instance was made by the posterior of
// `version`, so its reward's entry comes after that one: it is none of those learnt if version >=
// sequence. The export may be a copy of any other model, so a decision of another instance, or of
// none, was not learnt only if it was made after the file. A model that has learnt nothing has
// learnt no decision.
bool MayHaveLearnt(const ExportOrigin& origin, const LoggedDecision& decision);

// "made before version 7 of instance ab12" and the like, for people.
std::string RefusedWhere(const ExportOrigin& origin);

}  // namespace bandana
