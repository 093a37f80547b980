// Lines that go because their users are deleted: zeros in place, so that the others stay where
// they are.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/file.h"
#include "common/base/mapped_file.h"
#include "common/base/removal.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "server/decisions/decision_files.h"
#include "server/decisions/decision_store.h"

namespace bandana::server {
namespace {

// Enough for 64 million users, more than a model may have: an erasing that began must be read.
constexpr std::uint64_t kErasingBytesMax = 1 << 30;

using Ids = absl::flat_hash_set<StoredId>;

// Where lines of some users are in one pair of files.
struct FoundLines {
  std::uint64_t number = 0;
  std::vector<std::size_t> rows;
  std::vector<std::pair<std::size_t, std::size_t>> frames;  // offset and length, head included
};

absl::StatusOr<FoundLines> FindLines(const std::string& decisions, const std::string& users,
                                     const Ids& whom, Ids& decided) {
  FoundLines found;
  BANDANA_ASSIGN_OR_RETURN(const MappedFile rows, MappedFile::Open(users));
  std::optional<MappedFile> map;
  StoredDecision decision;
  const std::size_t count = UserRows(rows.bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const UserRow row = UserRowAt(rows.bytes(), i);
    if (!whom.contains(row.user)) continue;
    if (!map) {
      BANDANA_ASSIGN_OR_RETURN(map, MappedFile::Open(decisions));
    }
    found.rows.push_back(i);
    FrameCursor cursor(map->bytes(), row.offset);
    const FrameCursor::Found frame = cursor.Next();
    if (frame == FrameCursor::Found::kEnd) continue;  // it was cut off
    found.frames.emplace_back(cursor.offset(), cursor.end() - cursor.offset());
    if (frame != FrameCursor::Found::kDecision) continue;
    if (!DecodeDecision(cursor.decision(), decision).ok()) continue;
    for (const StoredSlot& slot : decision.slots) decided.insert(slot.id);
  }
  return found;
}

absl::Status EraseRewards(const std::string& path, const Ids& decided) {
  std::vector<std::size_t> rows;
  {
    BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(path));
    const std::size_t count = RewardRows(map.bytes());
    for (std::size_t i = 0; i < count; ++i) {
      const StoredId id = RewardDecisionAt(map.bytes(), i);
      if (decided.contains(id)) rows.push_back(i);
    }
  }
  if (rows.empty()) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path));
  for (const std::size_t row : rows) {
    BANDANA_RETURN_IF_ERROR(
        file.WriteAt(kSegmentHeaderBytes + row * kRewardRowBytes, ErasedRewardRow()));
  }
  return file.Sync();
}

absl::Status EraseFrames(const std::string& path, const FoundLines& found) {
  if (found.frames.empty()) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path));
  for (const auto& [offset, bytes] : found.frames) {
    BANDANA_RETURN_IF_ERROR(file.WriteAt(offset, ErasedFrame(bytes)));
  }
  return file.Sync();
}

// The offsets stay: rows and frames belong together by them.
absl::Status EraseRows(const std::string& path, const FoundLines& found) {
  BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path));
  const std::string zeros(sizeof(UserPseudonym), '\0');
  for (const std::size_t row : found.rows) {
    BANDANA_RETURN_IF_ERROR(file.WriteAt(kSegmentHeaderBytes + row * kUserRowBytes, zeros));
  }
  return file.Sync();
}

// Users of an erasing that has begun; nobody where there is none.
absl::StatusOr<std::vector<UserPseudonym>> ReadBegun(const std::string& path) {
  const absl::StatusOr<std::string> begun = ReadFile(path, kErasingBytesMax);
  if (absl::IsNotFound(begun.status())) return std::vector<UserPseudonym>();
  BANDANA_RETURN_IF_ERROR(begun.status());
  std::vector<UserPseudonym> users(begun->size() / sizeof(UserPseudonym));
  std::memcpy(users.data(), begun->data(), users.size() * sizeof(UserPseudonym));
  return users;
}

absl::Status RemoveErased(const std::string& path) {
  BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path));
  BANDANA_RETURN_IF_ERROR(file.WriteAt(0, std::string(file.size(), '\0')));
  BANDANA_RETURN_IF_ERROR(file.Sync());
  return RemoveFile(path).status();
}

}  // namespace

std::string DecisionStore::ErasingPath() const {
  return options_.folder + "/" + std::string(kErasingName);
}

absl::StatusOr<std::uint64_t> DecisionStore::Erase(std::span<const UserPseudonym> users) {
  if (users.empty()) return 0;
  // Those of an erasing that failed are in the file as well.
  Ids whom(users.begin(), users.end());
  BANDANA_ASSIGN_OR_RETURN(const std::vector<UserPseudonym> begun, ReadBegun(ErasingPath()));
  whom.insert(begun.begin(), begun.end());
  const std::vector<UserPseudonym> all(whom.begin(), whom.end());
  BANDANA_RETURN_IF_ERROR(
      WriteFileDurably(ErasingPath(), AsChars(std::as_bytes(std::span(all))), 0600));
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t lines, EraseNow(all));
  BANDANA_RETURN_IF_ERROR(RemoveErased(ErasingPath()));
  return lines;
}

absl::StatusOr<std::uint64_t> DecisionStore::EraseNow(std::span<const UserPseudonym> users) {
  const Ids whom(users.begin(), users.end());
  Ids decided;
  std::vector<FoundLines> all;
  std::uint64_t lines = 0;
  for (const Segment& segment : decisions_) {
    BANDANA_ASSIGN_OR_RETURN(FoundLines found,
                             FindLines(PathOf(SegmentKind::kDecisions, segment.number),
                                       PathOf(SegmentKind::kUsers, segment.number), whom, decided));
    if (found.rows.empty()) continue;
    found.number = segment.number;
    lines += found.rows.size();
    all.push_back(std::move(found));
  }
  // In this order a crash leaves enough to go on: lines say which rewards, rows say which lines.
  for (const Segment& segment : rewards_) {
    if (decided.empty()) break;
    BANDANA_RETURN_IF_ERROR(EraseRewards(PathOf(SegmentKind::kRewards, segment.number), decided));
  }
  for (const FoundLines& found : all) {
    BANDANA_RETURN_IF_ERROR(EraseFrames(PathOf(SegmentKind::kDecisions, found.number), found));
  }
  for (const FoundLines& found : all) {
    BANDANA_RETURN_IF_ERROR(EraseRows(PathOf(SegmentKind::kUsers, found.number), found));
  }
  return lines;
}

absl::Status DecisionStore::FinishErasing() {
  // A crash may have left it behind: of a call that was not answered.
  BANDANA_RETURN_IF_ERROR(RemoveFile(ErasingPath() + ".tmp").status());
  BANDANA_ASSIGN_OR_RETURN(const std::vector<UserPseudonym> users, ReadBegun(ErasingPath()));
  if (users.empty()) return RemoveFile(ErasingPath()).status();
  BANDANA_RETURN_IF_ERROR(EraseNow(users).status());
  return RemoveErased(ErasingPath());
}

absl::Status DecisionStore::TakeBackFrom(std::uint64_t sequence) {
  while (!rewards_.empty()) {
    Segment& segment = rewards_.back();
    const std::string path = PathOf(SegmentKind::kRewards, segment.number);
    std::size_t kept = 0;
    std::uint64_t last = 0;
    {
      BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(path));
      for (; kept < RewardRows(map.bytes()); ++kept) {
        const auto row = RewardRowAt(map.bytes(), segment.first_sequence, kept);
        if (!row) continue;
        if (row->sequence >= sequence) break;
        last = std::max(last, row->sequence);
      }
    }
    if (segment.first_sequence < sequence && (kept > 0 || rewards_.size() == 1)) {
      BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path));
      BANDANA_RETURN_IF_ERROR(file.CutTo(kSegmentHeaderBytes + kept * kRewardRowBytes));
      segment.lines = kept;
      segment.bytes = file.size();
      last_sequence_ = std::max(last, segment.first_sequence);
      return file.Sync();
    }
    BANDANA_RETURN_IF_ERROR(RemoveFile(path).status());
    rewards_.pop_back();
  }
  last_sequence_ = 0;
  return absl::OkStatus();
}

}  // namespace bandana::server
