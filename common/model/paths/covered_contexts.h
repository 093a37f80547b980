// Contexts of events in counters of rewards: S holds an event from the release on that covers it.
#pragma once

#include <string_view>

#include "common/model/state/event_sink.h"
#include "common/model/state/held_contexts.h"

namespace bandana {

// The middle of the reward range is public. It stands for every reward in the statistics, and the
// counter's release adds the rest. Immutable. Threads: safe.
class CoveredContexts {
 public:
  explicit CoveredContexts(double centre) : centre_(centre) {}

  double centre() const { return centre_.value(); }
  // One event of the stream, whose release covers it already or does not yet.
  void Enter(const HeldContexts::Key& stream, std::string_view features, bool covered,
             HeldContexts& held, ContextSums& sums) const;

 private:
  Released<double> centre_;
};

// Joins the contexts that the stream held: they are covered now.
void JoinHeld(const HeldContexts::Key& stream, HeldContexts& held, ContextSums& sums);

}  // namespace bandana
