// Segments of a decision log: files that are only appended to, and in which what was deleted is
// zeros. Three kinds stand beside each other: decisions, one frame each; users, one row for each
// frame of the decisions of that number; rewards, one row for each event that was learnt.
// docs/formats/decisions.md, Decision log of a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/decisions/stored_decision.h"
#include "common/mechanisms/reward_range.h"

namespace bandana {

enum class SegmentKind : std::uint8_t { kDecisions = 1, kUsers = 2, kRewards = 3 };

// How a reward follows from what an entry of the model's log has (Family::EventReward).
enum class RewardForm : std::uint8_t {
  kAsIs = 0,
  kCentredShare = 1,  // (reward - middle of the range) / propensity
};

// The facts that all lines of a segment share.
struct SegmentHeader {
  SegmentKind kind = SegmentKind::kDecisions;
  StoredId instance{};  // of the model
  absl::Time made;
  RewardRange range;
  RewardForm form = RewardForm::kAsIs;
  // The law of released values, where a window of the line does not say more; epsilon 0: rewards
  // are raw.
  double epsilon = 0;
  double low = 0;
  double high = 0;
  bool clipped = false;  // CENTRED_RANDOMIZER
  // The server closes windows, each with an event: a decision that none is of by then had none
  // opened, and is no line.
  bool closes_windows = false;
  absl::Duration reported_within;    // no reward comes later than this after a decision
  std::uint64_t first_sequence = 0;  // rewards: of the model's log; rows count from it
};
inline constexpr std::size_t kSegmentHeaderBytes = 128;

std::string EncodeHeader(const SegmentHeader& header);
// Errors: DATA_LOSS damaged, or of another format.
absl::StatusOr<SegmentHeader> DecodeHeader(std::string_view segment);

// A frame: its length and checksum, then an encoded decision. Erased ones keep their length.
inline constexpr std::size_t kFrameHeadBytes = 8;
inline constexpr std::size_t kFrameBytesMax = 1 << 20;
// Appends one. Requires 1 to kFrameBytesMax bytes.
void AppendFrame(std::string_view decision, std::string& out);
// The bytes of an erased frame, as long as `frame_bytes`, head included.
std::string ErasedFrame(std::size_t frame_bytes);

// Goes through the frames of a segment. A damaged frame whose length is sound is told and passed
// over; behind one whose length is not the segment ends.
class FrameCursor {
 public:
  // `segment`: the whole file, or its head up to any byte. `offset`: of the first frame to look at.
  explicit FrameCursor(std::string_view segment, std::size_t offset = kSegmentHeaderBytes)
      : segment_(segment), end_(offset) {}

  enum class Found { kDecision, kErased, kDamaged, kEnd };
  Found Next();
  // The bytes of the last one that was found.
  std::string_view decision() const { return payload_; }
  std::size_t offset() const { return offset_; }  // of its head, from the segment's start
  // Where the next one begins: at kEnd how much of the segment is sound.
  std::size_t end() const { return end_; }

 private:
  const std::string_view segment_;
  std::string_view payload_;
  std::size_t offset_ = 0;
  std::size_t end_;
};

// Who a decision was for: a keyed pseudonym (16 bytes of HMAC-SHA256), zeros once it was erased.
using UserPseudonym = StoredId;
struct UserRow {
  UserPseudonym user{};
  std::uint32_t offset = 0;  // of the frame
};
inline constexpr std::size_t kUserRowBytes = 20;
void AppendRow(const UserRow& row, std::string& out);

// The part of an applied entry that is of one decision.
enum class RewardKind : std::uint8_t {
  kEvent = 1,  // an event: its value is the reward
  kShown = 2,  // another arm than the first was shown: its mark. No value
  kActive = 3  // its window was opened: a deferred decision was shown. No value
};
struct RewardRow {
  RewardKind kind = RewardKind::kEvent;
  StoredId decision{};         // or the slot
  double value = 0;            // as the entry has it
  std::uint64_t sequence = 0;  // of the entry
  std::uint32_t mark = 0;      // ArmMark of its arm; 0: the entry does not say
  friend bool operator==(const RewardRow&, const RewardRow&) = default;
};
inline constexpr std::size_t kRewardRowBytes = 37;
// Requires a sequence of at least `first_sequence`, by less than 2^32.
void AppendRow(const RewardRow& row, std::uint64_t first_sequence, std::string& out);
std::string ErasedRewardRow();

// The rows of a segment; a cut last one is left out. `index` < rows.
std::size_t UserRows(std::string_view segment);
UserRow UserRowAt(std::string_view segment, std::size_t index);
// A row's own bytes. Requires kUserRowBytes of them.
UserRow UserRowOf(std::string_view bytes);
std::size_t RewardRows(std::string_view segment);
// The row's decision, whatever its checksum says; zeros where it is erased.
StoredId RewardDecisionAt(std::string_view segment, std::size_t index);
// Nothing: erased, or damaged.
std::optional<RewardRow> RewardRowAt(std::string_view segment, std::uint64_t first_sequence,
                                     std::size_t index);

}  // namespace bandana
