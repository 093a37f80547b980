#include "server/decisions/decision_reader.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "common/base/mapped_file.h"
#include "common/base/status.h"
#include "common/decisions/joined_decision.h"
#include "server/decisions/decision_files.h"

namespace bandana::server {
namespace {

// Decisions whose rewards are looked up at a time: 64 bytes each.
constexpr std::size_t kGroupMax = 1'000'000;
// A decision may be written so long after the rewards that came at its time.
constexpr absl::Duration kWriterLag = absl::Minutes(1);

using Outcomes = absl::flat_hash_map<StoredId, DecisionOutcome>;

}  // namespace

class DecisionReader::Body {
 public:
  explicit Body(Options options) : options_(std::move(options)) {}

  absl::Status Begin() {
    for (const std::string& folder : options_.folders) {
      Cursor& cursor = cursors_.emplace_back();
      cursor.folder = folder;
      BANDANA_ASSIGN_OR_RETURN(cursor.numbers, ListSegments(folder, SegmentKind::kDecisions));
      BANDANA_ASSIGN_OR_RETURN(std::vector<RewardSegment> rewards, RewardsOf(folder));
      rewards_.insert(rewards_.end(), rewards.begin(), rewards.end());
    }
    for (Cursor& cursor : cursors_) BANDANA_RETURN_IF_ERROR(Advance(cursor));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Next(LoggedDecision& out) {
    for (;;) {
      Cursor* first = nullptr;
      for (Cursor& cursor : cursors_) {
        if (!cursor.there) continue;
        if (first == nullptr || cursor.stored.time < first->stored.time) first = &cursor;
      }
      if (first == nullptr) return false;
      const bool wanted = first->stored.time >= options_.from && first->stored.time < options_.to;
      const bool line =
          wanted && Join(
                        first->header(), first->stored,
                        [&](const StoredId& id) { return first->Find(id); }, options_.now, out);
      if (line && options_.users) {
        const UserPseudonym user = first->user;
        out.user = absl::BytesToHexString(
            absl::string_view(reinterpret_cast<const char*>(user.data()), user.size()));
      }
      BANDANA_RETURN_IF_ERROR(Advance(*first));
      if (line) return true;
    }
  }

  std::uint64_t damaged() const { return damaged_; }

 private:
  struct DecisionSegment {
    MappedFile decisions;
    MappedFile users;
    SegmentHeader header;
  };
  struct RewardSegment {
    std::string path;
    absl::Time until;  // nothing was appended later
  };

  static absl::Status AddRewards(const RewardSegment& segment, Outcomes& outcomes) {
    BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(segment.path));
    BANDANA_ASSIGN_OR_RETURN(const SegmentHeader header, DecodeHeader(map.bytes()));
    const std::size_t rows = RewardRows(map.bytes());
    for (std::size_t i = 0; i < rows; ++i) {
      const auto outcome = outcomes.find(RewardDecisionAt(map.bytes(), i));
      if (outcome == outcomes.end()) continue;
      const auto row = RewardRowAt(map.bytes(), header.first_sequence, i);
      if (row) outcome->second.Add(*row);
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<RewardSegment>> RewardsOf(const std::string& folder) {
    BANDANA_ASSIGN_OR_RETURN(const auto numbers, ListSegments(folder, SegmentKind::kRewards));
    std::vector<RewardSegment> segments;
    for (const std::uint64_t number : numbers) {
      const std::string path = SegmentPath(folder, SegmentKind::kRewards, number);
      BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(path));
      const absl::StatusOr<SegmentHeader> header = DecodeHeader(map.bytes());
      if (!header.ok()) continue;  // it was being made
      if (!segments.empty()) segments.back().until = header->made;
      segments.push_back({path, absl::InfiniteFuture()});
    }
    return segments;
  }

  // A place in the decisions of one folder.
  struct Cursor {
    std::string folder;
    std::vector<std::uint64_t> numbers;  // segments
    std::size_t next_number = 0;         // the first that is in no group yet
    std::vector<DecisionSegment> group;
    Outcomes outcomes;  // of the group's decisions
    std::size_t segment = 0;
    std::optional<FrameCursor> frames;
    std::size_t row = 0;
    bool there = false;  // `stored` and `user` are of the present frame
    StoredDecision stored;
    UserPseudonym user{};

    const SegmentHeader& header() const { return group[segment].header; }
    const DecisionOutcome* Find(const StoredId& id) const {
      const auto found = outcomes.find(id);
      const bool any = found != outcomes.end() &&
                       (found->second.value || found->second.active || found->second.mark != 0);
      return any ? &found->second : nullptr;
    }
  };

  // The next frame of the segment that is wanted; false: there is none.
  bool NextFrame(Cursor& cursor, bool count_damage) {
    const DecisionSegment& segment = cursor.group[cursor.segment];
    const std::size_t rows = UserRows(segment.users.bytes());
    for (;;) {
      const FrameCursor::Found found = cursor.frames->Next();
      if (found == FrameCursor::Found::kEnd || cursor.row >= rows) return false;
      const UserRow row = UserRowAt(segment.users.bytes(), cursor.row++);
      // A line without its user's row could not be deleted: it is none.
      if (row.offset != cursor.frames->offset()) return false;
      if (found == FrameCursor::Found::kErased) continue;
      if (options_.only && row.user != *options_.only) continue;
      const bool sound = found == FrameCursor::Found::kDecision &&
                         DecodeDecision(cursor.frames->decision(), cursor.stored).ok();
      if (!sound) {
        if (count_damage) ++damaged_;
        continue;
      }
      cursor.user = row.user;
      return true;
    }
  }

  absl::Status AddToGroup(Cursor& cursor) {
    const std::uint64_t number = cursor.numbers[cursor.next_number++];
    absl::StatusOr<MappedFile> decisions =
        MappedFile::Open(SegmentPath(cursor.folder, SegmentKind::kDecisions, number));
    absl::StatusOr<MappedFile> users =
        MappedFile::Open(SegmentPath(cursor.folder, SegmentKind::kUsers, number));
    if (!decisions.ok() && !absl::IsNotFound(decisions.status())) return decisions.status();
    if (!users.ok() && !absl::IsNotFound(users.status())) return users.status();
    if (!decisions.ok() || !users.ok()) return absl::OkStatus();
    absl::StatusOr<SegmentHeader> header = DecodeHeader(decisions->bytes());
    if (!header.ok()) return absl::OkStatus();  // it was being made
    cursor.group.push_back({*std::move(decisions), *std::move(users), *std::move(header)});
    cursor.segment = cursor.group.size() - 1;
    cursor.frames.emplace(cursor.group.back().decisions.bytes());
    cursor.row = 0;
    while (NextFrame(cursor, /*count_damage=*/false)) {
      for (const StoredSlot& slot : cursor.stored.slots) cursor.outcomes[slot.id];
    }
    return absl::OkStatus();
  }

  absl::Status NextGroup(Cursor& cursor) {
    cursor.group.clear();
    cursor.outcomes.clear();
    cursor.frames.reset();
    while (cursor.next_number < cursor.numbers.size() && cursor.outcomes.size() < kGroupMax) {
      BANDANA_RETURN_IF_ERROR(AddToGroup(cursor));
    }
    cursor.segment = 0;
    if (cursor.group.empty()) return absl::OkStatus();
    cursor.frames.emplace(cursor.group.front().decisions.bytes());
    cursor.row = 0;
    const absl::Time begin = cursor.group.front().header.made - kWriterLag;
    for (const RewardSegment& rewards : rewards_) {
      if (rewards.until < begin || cursor.outcomes.empty()) continue;
      BANDANA_RETURN_IF_ERROR(AddRewards(rewards, cursor.outcomes));
    }
    return absl::OkStatus();
  }

  absl::Status Advance(Cursor& cursor) {
    cursor.there = false;
    for (;;) {
      if (cursor.frames && NextFrame(cursor, /*count_damage=*/true)) {
        cursor.there = true;
        return absl::OkStatus();
      }
      if (cursor.segment + 1 < cursor.group.size()) {
        ++cursor.segment;
        cursor.frames.emplace(cursor.group[cursor.segment].decisions.bytes());
        cursor.row = 0;
        continue;
      }
      if (cursor.next_number >= cursor.numbers.size()) return absl::OkStatus();
      BANDANA_RETURN_IF_ERROR(NextGroup(cursor));
    }
  }

  const Options options_;
  std::vector<RewardSegment> rewards_;
  std::vector<Cursor> cursors_;
  std::uint64_t damaged_ = 0;
};

DecisionReader::DecisionReader(std::unique_ptr<Body> body) : body_(std::move(body)) {}
DecisionReader::~DecisionReader() = default;

absl::StatusOr<std::unique_ptr<DecisionReader>> DecisionReader::Open(Options options) {
  auto body = std::make_unique<Body>(std::move(options));
  BANDANA_RETURN_IF_ERROR(body->Begin());
  return std::unique_ptr<DecisionReader>(new DecisionReader(std::move(body)));
}

absl::StatusOr<bool> DecisionReader::Next(LoggedDecision& decision) {
  return body_->Next(decision);
}

std::uint64_t DecisionReader::damaged() const { return body_->damaged(); }

}  // namespace bandana::server
