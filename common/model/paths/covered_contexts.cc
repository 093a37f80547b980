#include "common/model/paths/covered_contexts.h"

namespace bandana {

void CoveredContexts::Enter(const HeldContexts::Key& stream, std::string_view features,
                            bool covered, HeldContexts& held, ContextSums& sums) const {
  if (covered) return sums.Add(stream.first, features, centre_);
  held.Hold(stream, features, centre_.value());
  sums.Count(stream.first);
}

void JoinHeld(const HeldContexts::Key& stream, HeldContexts& held, ContextSums& sums) {
  if (const auto contexts = held.Take(stream)) sums.Join(stream.first, *contexts);
}

}  // namespace bandana
