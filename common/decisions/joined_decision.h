// A stored decision and what came of it, as one decision for judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/decisions/logged_decision.h"
#include "common/decisions/segment.h"
#include "common/decisions/stored_decision.h"

namespace bandana {

// All rows of one decision or slot together. A row that stands twice, as after a restart or in the
// halves of two servers, counts once.
struct DecisionOutcome {
  std::optional<double> value;  // as the entry of the model's log has it
  std::uint32_t mark = 0;       // of the arm that was shown, where a row says
  bool active = false;

  void Add(const RewardRow& row);
};

// An id of a decision or an instance, as lines have it: 32 digits.
std::string HexOf(const StoredId& id);

// Nothing where the id has no row.
using FindOutcome = absl::FunctionRef<const DecisionOutcome*(const StoredId&)>;

// Fills `out` with all but the user. False: the decision is deferred and was not shown, as far as
// anybody knows, or its window was not opened. `now`: of the model's clock; a reward that has not
// come by then, and cannot any more, is unreported. Requires a decision of a segment with this
// header. Threads: safe.
bool Join(const SegmentHeader& header, const StoredDecision& stored, FindOutcome find,
          absl::Time now, LoggedDecision& out);

}  // namespace bandana
