// Facts of arms that a model keeps beside effects: those that users were shown, and how many events
// each has had. A function of the log's entries and of the facts here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/design/seen_bounds.h"
#include "common/model/entries/records.h"
#include "common/model/state/arm_event_counts.h"
#include "common/model/state/seen_arms.h"

namespace bandana {

struct ArmNotesFacts {
  std::optional<SeenBounds> seen;  // of the arms that users were shown; none: they are not kept
  std::optional<double> rewarded_above;  // where rewards may be kept: such are rewards
  std::uint32_t cold_events = 0;         // so many events of each arm are counted; 0: none
  std::size_t user_parts = 0;            // keys of an event before that of its arm
};

// Threads: parts() may be read at any time, the rest by one thread at a time.
class ArmNotes {
 public:
  struct Parts {
    std::shared_ptr<SeenArms> seen;          // null: not kept
    std::shared_ptr<ArmEventCounts> events;  // null: not counted
  };
  explicit ArmNotes(const ArmNotesFacts& facts);
  const Parts& parts() const { return parts_; }

  // The entries of a log. Keys are those of events.
  void Decided(const PackedKeys& keys, absl::Time time);
  void Shown(const SeenRecord& record);
  void Happened(const PackedKeys& keys, double reward, absl::Time time);
  void Forget(const PackedKeys& keys);

  // Blocks: the arms that users were shown, and the numbers of events; empty where they are not
  // kept. False: the bytes are not that. A part that is not kept any more is passed over.
  void Encode(ByteWriter& out) const;
  bool Decode(std::string_view bytes);

 private:
  struct Whom {
    EffectKey user = kAbsent;
    std::uint32_t arm = 0;
  };
  // Nothing where the event is of no arm.
  std::optional<Whom> WhomOf(const PackedKeys& keys) const;

  const ArmNotesFacts facts_;
  const Parts parts_;
};

}  // namespace bandana
