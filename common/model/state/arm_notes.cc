#include "common/model/state/arm_notes.h"

#include <string>
#include <vector>

namespace bandana {
namespace {

ArmNotes::Parts PartsOf(const ArmNotesFacts& facts) {
  ArmNotes::Parts parts;
  if (facts.seen) parts.seen = std::make_shared<SeenArms>(*facts.seen);
  if (facts.cold_events > 0) parts.events = std::make_shared<ArmEventCounts>(facts.cold_events);
  return parts;
}

template <typename Part>
void PutPart(const std::shared_ptr<Part>& part, ByteWriter& out) {
  std::string bytes;
  ByteWriter writer(bytes);
  if (part != nullptr) part->Encode(writer);
  out.Block(bytes);
}

template <typename Part>
bool TakePart(std::string_view bytes, const std::shared_ptr<Part>& part) {
  if (bytes.empty() || part == nullptr) return true;
  ByteReader in(bytes);
  return part->Decode(in) && in.Done();
}

}  // namespace

ArmNotes::ArmNotes(const ArmNotesFacts& facts) : facts_(facts), parts_(PartsOf(facts)) {}

std::optional<ArmNotes::Whom> ArmNotes::WhomOf(const PackedKeys& keys) const {
  if (keys.size() <= facts_.user_parts) return std::nullopt;
  const std::vector<std::uint64_t> parts = keys.Values();
  const std::optional<std::uint32_t> arm = ArmIdOf(parts[facts_.user_parts]);
  if (!arm) return std::nullopt;
  return Whom{.user = parts.front(), .arm = *arm};
}

void ArmNotes::Decided(const PackedKeys& keys, absl::Time time) {
  if (parts_.seen == nullptr) return;
  if (const auto whom = WhomOf(keys)) {
    parts_.seen->Add(SeenKind::kShown, whom->user, whom->arm, time);
  }
}

void ArmNotes::Shown(const SeenRecord& record) {
  if (parts_.seen == nullptr) return;
  for (const std::uint64_t key : record.arms.Values()) {
    if (const auto arm = ArmIdOf(key)) {
      parts_.seen->Add(SeenKind::kShown, record.user, *arm, record.time);
    }
  }
}

void ArmNotes::Happened(const PackedKeys& keys, double reward, absl::Time time) {
  const auto whom = WhomOf(keys);
  if (!whom) return;
  if (parts_.events != nullptr) parts_.events->Add(whom->arm);
  if (parts_.seen == nullptr || !facts_.rewarded_above) return;
  if (reward > *facts_.rewarded_above) {
    parts_.seen->Add(SeenKind::kRewarded, whom->user, whom->arm, time);
  }
}

void ArmNotes::Forget(const PackedKeys& keys) {
  const std::vector<std::uint64_t> values = keys.Values();
  if (parts_.seen != nullptr) parts_.seen->Forget(values);
  if (parts_.events != nullptr) parts_.events->Forget(values);
}

void ArmNotes::Encode(ByteWriter& out) const {
  PutPart(parts_.seen, out);
  PutPart(parts_.events, out);
}

bool ArmNotes::Decode(std::string_view bytes) {
  ByteReader in(bytes);
  const std::string_view seen = in.Block();
  const std::string_view events = in.Block();
  return in.Done() && TakePart(seen, parts_.seen) && TakePart(events, parts_.events);
}

}  // namespace bandana
