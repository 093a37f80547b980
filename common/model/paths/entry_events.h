// The parts of an entry that are of single decisions, for whoever joins them to what was decided.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "common/model/entries/records.h"

namespace bandana {

// Views point where those of the record do.
struct EntryPart {
  DecisionId decision{};
  // True: it is an event with this reward, as the model has learnt it. False: the entry opens the
  // decision's window, or says of which arm its event will be.
  bool event = false;
  bool opens = false;
  double reward = 0;
  // The arm, as in EventRecord; none where the entry does not say.
  std::string_view features = {};
  std::string_view keys = {};
};

// Calls `take` with each part, in order. Other entries have none.
void ForEachPart(const Record& record, absl::FunctionRef<void(const EntryPart&)> take);

}  // namespace bandana
