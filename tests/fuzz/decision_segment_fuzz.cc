// Segments of a decision log: any bytes are frames, erased ones or damage; what decodes encodes to
// the same bytes, and can be joined.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/decisions/joined_decision.h"
#include "common/decisions/segment.h"
#include "common/decisions/stored_decision.h"

namespace {

void JoinAny(const bandana::SegmentHeader& header, const bandana::StoredDecision& decision) {
  bandana::DecisionOutcome outcome;
  outcome.Add({.decision = decision.slots.front().id, .value = 0.5, .mark = 7});
  bandana::LoggedDecision joined;
  const bool line = bandana::Join(
      header, decision, [&](const bandana::StoredId&) { return &outcome; }, decision.time, joined);
  BANDANA_CHECK(line);
  for (const bandana::LoggedSlot& slot : joined.slots) {
    BANDANA_CHECK(slot.chosen < slot.p.size());
    BANDANA_CHECK(slot.offered >= slot.p.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bandana::StoredDecision decision;
  std::string again;
  if (bandana::DecodeDecision(bytes, decision).ok()) {
    bandana::EncodeDecision(decision, again);
    BANDANA_CHECK(again.size() <= bytes.size());  // numbers may have been longer than they need be
    JoinAny({}, decision);
  }
  const absl::StatusOr<bandana::SegmentHeader> header = bandana::DecodeHeader(bytes);
  bandana::FrameCursor cursor(bytes);
  for (auto found = cursor.Next(); found != bandana::FrameCursor::Found::kEnd;
       found = cursor.Next()) {
    BANDANA_CHECK(cursor.end() <= size);
    const bool decoded = bandana::DecodeDecision(cursor.decision(), decision).ok();
    if (decoded && header.ok()) JoinAny(*header, decision);
  }
  for (std::size_t i = 0; i < bandana::RewardRows(bytes); ++i) {
    (void)bandana::RewardRowAt(bytes, 1, i);
  }
  for (std::size_t i = 0; i < bandana::UserRows(bytes); ++i) (void)bandana::UserRowAt(bytes, i);
  return 0;
}
