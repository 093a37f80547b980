#include "common/model/paths/entry_events.h"

#include <variant>

namespace bandana {

void ForEachPart(const Record& record, absl::FunctionRef<void(const EntryPart&)> take) {
  if (const auto* const outcome = std::get_if<OutcomeRecord>(&record)) {
    take({.decision = outcome->event.id,
          .event = true,
          .reward = outcome->reward,
          .features = outcome->event.features.bytes(),
          .keys = outcome->event.keys.bytes()});
  } else if (const auto* const close = std::get_if<CloseRecord>(&record)) {
    for (const ClosedWindow& window : close->windows) {
      take({.decision = window.id, .event = true, .reward = window.reward});
    }
  } else if (const auto* const opening = std::get_if<DecisionRecord>(&record)) {
    take({.decision = opening->event.id, .opens = true});
  } else if (const auto* const shown = std::get_if<ShownRecord>(&record)) {
    take({.decision = shown->id, .features = shown->features.bytes(), .keys = shown->keys.bytes()});
  }
}

}  // namespace bandana
