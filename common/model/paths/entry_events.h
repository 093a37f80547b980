// The parts of an entry that are of single decisions, for whoever joins them to what was decided.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/model/entries/records.h"

namespace bandana {

// Views point where those of the record do.
struct EntryPart {
  DecisionId decision{};
  // True: it is an event with this reward, as the model has learnt it. False: the entry says of
  // which arm the decision's event will be.
  bool event = false;
  double reward = 0;
  // The arm, as in EventRecord; none where the entry does not say.
  std::string_view features = {};
  std::string_view keys = {};
};

// Calls `take` with each part, in order. Other entries have none.
void ForEachPart(const Record& record, absl::FunctionRef<void(const EntryPart&)> take);

}  // namespace bandana
