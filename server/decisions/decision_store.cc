#include "server/decisions/decision_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/file.h"
#include "common/base/mapped_file.h"
#include "common/base/removal.h"
#include "common/base/status.h"
#include "server/decisions/decision_files.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kSegmentBytesMin = 64 << 10;
constexpr std::uint64_t kSegmentBytesMax = 64 << 20;
constexpr std::uint64_t kRewardSegmentBytes = 16 << 20;
// So many segments fill what may be kept: what goes at a time.
constexpr int kSegmentsKept = 16;

std::uint64_t SegmentBytes(const DecisionStore::Options& options) {
  if (options.segment_bytes > 0) return options.segment_bytes;
  return std::clamp(options.bytes_max / kSegmentsKept, kSegmentBytesMin, kSegmentBytesMax);
}

// The place in a file after which nothing is sound.
struct SoundEnd {
  std::uint64_t lines = 0;
  std::size_t bytes = kSegmentHeaderBytes;

  static SoundEnd Of(std::string_view decisions, std::string_view users) {
    const std::size_t rows = UserRows(users);
    SoundEnd sound;
    FrameCursor cursor(decisions);
    while (sound.lines < rows) {
      const FrameCursor::Found found = cursor.Next();
      // A crash of the machine may leave a hole; behind it nothing was durable.
      const bool there =
          found == FrameCursor::Found::kDecision || found == FrameCursor::Found::kErased;
      if (!there || UserRowAt(users, sound.lines).offset != cursor.offset()) break;
      ++sound.lines;
      sound.bytes = cursor.end();
    }
    return sound;
  }
};

}  // namespace

std::string DecisionStore::PathOf(SegmentKind kind, std::uint64_t number) const {
  return SegmentPath(options_.folder, kind, number);
}

absl::StatusOr<std::unique_ptr<DecisionStore>> DecisionStore::Open(Options options) {
  std::unique_ptr<DecisionStore> store(new DecisionStore(std::move(options)));
  const std::string& folder = store->options_.folder;
  BANDANA_RETURN_IF_ERROR(Annotate(store->Recover(), folder));
  return store;
}

absl::Status DecisionStore::Recover() {
  BANDANA_RETURN_IF_ERROR(MakeFolders(options_.folder));
  BANDANA_ASSIGN_OR_RETURN(counts_,
                           DecisionCounts::Open(options_.folder + "/" + std::string(kCountsName)));
  BANDANA_ASSIGN_OR_RETURN(const auto decisions,
                           ListSegments(options_.folder, SegmentKind::kDecisions));
  for (const std::uint64_t number : decisions) {
    BANDANA_RETURN_IF_ERROR(RecoverDecisions(number, number == decisions.back()));
  }
  BANDANA_ASSIGN_OR_RETURN(const auto users, ListSegments(options_.folder, SegmentKind::kUsers));
  for (const std::uint64_t number : users) {
    if (std::ranges::find(decisions_, number, &Segment::number) != decisions_.end()) continue;
    BANDANA_RETURN_IF_ERROR(RemoveFile(PathOf(SegmentKind::kUsers, number)).status());
  }
  BANDANA_ASSIGN_OR_RETURN(const auto rewards,
                           ListSegments(options_.folder, SegmentKind::kRewards));
  for (const std::uint64_t number : rewards) BANDANA_RETURN_IF_ERROR(RecoverRewards(number));
  return FinishErasing();
}

// Only what has a user's row is a line: a line that nobody can delete must not be. Only the newest
// file can have been written when the last process ended.
absl::Status DecisionStore::RecoverDecisions(std::uint64_t number, bool newest) {
  const std::string path = PathOf(SegmentKind::kDecisions, number);
  const std::string users_path = PathOf(SegmentKind::kUsers, number);
  std::optional<SegmentHeader> header;
  SoundEnd sound;
  {
    const absl::StatusOr<MappedFile> map = MappedFile::Open(path);
    const absl::StatusOr<MappedFile> users = MappedFile::Open(users_path);
    if (!map.ok()) return map.status();
    if (!users.ok() && !absl::IsNotFound(users.status())) return users.status();
    absl::StatusOr<SegmentHeader> read = DecodeHeader(map->bytes());
    if (users.ok() && read.ok() && DecodeHeader(users->bytes()).ok()) {
      header = *std::move(read);
      sound = newest ? SoundEnd::Of(map->bytes(), users->bytes())
                     : SoundEnd{UserRows(users->bytes()), map->bytes().size()};
    }
  }
  if (!header || sound.lines == 0) return RemoveDecisions(number);
  BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path));
  BANDANA_ASSIGN_OR_RETURN(AppendFile users, AppendFile::Open(users_path));
  const std::uint64_t user_bytes = kSegmentHeaderBytes + sound.lines * kUserRowBytes;
  if (file.size() > sound.bytes) BANDANA_RETURN_IF_ERROR(file.CutTo(sound.bytes));
  if (users.size() > user_bytes) BANDANA_RETURN_IF_ERROR(users.CutTo(user_bytes));
  decisions_.push_back({.number = number,
                        .made = header->made,
                        .lines = sound.lines,
                        .bytes = file.size() + users.size(),
                        .first_sequence = header->first_sequence});
  counts_->AtLeast(header->first_sequence + sound.lines);
  return absl::OkStatus();
}

absl::Status DecisionStore::RecoverRewards(std::uint64_t number) {
  BANDANA_ASSIGN_OR_RETURN(AppendFile file,
                           AppendFile::Open(PathOf(SegmentKind::kRewards, number)));
  SegmentHeader header;
  std::size_t rows = 0;
  {
    BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(file.path()));
    const absl::StatusOr<SegmentHeader> read = DecodeHeader(map.bytes());
    if (read.ok()) header = *read;
    // Rows that were not durable when the machine ended are zeros or torn: those at the end go.
    rows = read.ok() ? RewardRows(map.bytes()) : 0;
    while (rows > 0 && !RewardRowAt(map.bytes(), header.first_sequence, rows - 1)) --rows;
    for (std::size_t i = rows; i > 0; --i) {
      const auto row = RewardRowAt(map.bytes(), header.first_sequence, i - 1);
      if (!row) continue;
      last_sequence_ = std::max(last_sequence_, row->sequence);
      break;
    }
  }
  if (rows == 0) return RemoveFile(file.path()).status();
  BANDANA_RETURN_IF_ERROR(file.CutTo(kSegmentHeaderBytes + rows * kRewardRowBytes));
  if (!rewards_.empty()) rewards_.back().until = header.made;
  rewards_.push_back({.number = number,
                      .made = header.made,
                      .lines = rows,
                      .bytes = file.size(),
                      .first_sequence = header.first_sequence});
  return absl::OkStatus();
}

absl::Status DecisionStore::RemoveDecisions(std::uint64_t number) const {
  // Users last: their rows say where the lines are.
  BANDANA_RETURN_IF_ERROR(RemoveFile(PathOf(SegmentKind::kDecisions, number)).status());
  return RemoveFile(PathOf(SegmentKind::kUsers, number)).status();
}

absl::Status DecisionStore::BeginDecisions(absl::Time now) {
  // Whoever opens the folder looks at the newest file alone.
  if (dirty_decisions_) BANDANA_RETURN_IF_ERROR(Sync());
  SegmentHeader header = options_.facts;
  header.made = now;
  header.first_sequence = counts_->written();
  const std::uint64_t number = decisions_.empty() ? 1 : decisions_.back().number + 1;
  CloseDecisions();
  // A file that could not be written whole is in the way of the next try.
  BANDANA_RETURN_IF_ERROR(RemoveDecisions(number));
  BANDANA_ASSIGN_OR_RETURN(AppendFile users, AppendFile::Make(PathOf(SegmentKind::kUsers, number)));
  BANDANA_ASSIGN_OR_RETURN(AppendFile file,
                           AppendFile::Make(PathOf(SegmentKind::kDecisions, number)));
  header.kind = SegmentKind::kUsers;
  BANDANA_RETURN_IF_ERROR(users.Append(EncodeHeader(header)));
  header.kind = SegmentKind::kDecisions;
  BANDANA_RETURN_IF_ERROR(file.Append(EncodeHeader(header)));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(file.path()));
  decision_file_ = std::move(file);
  user_file_ = std::move(users);
  decisions_.push_back({.number = number,
                        .made = now,
                        .bytes = 2 * kSegmentHeaderBytes,
                        .first_sequence = header.first_sequence});
  return absl::OkStatus();
}

absl::Status DecisionStore::BeginRewards(std::uint64_t first_sequence, absl::Time now) {
  SegmentHeader header = options_.facts;
  header.kind = SegmentKind::kRewards;
  header.made = now;
  header.first_sequence = first_sequence;
  const std::uint64_t number = rewards_.empty() ? 1 : rewards_.back().number + 1;
  const std::string path = PathOf(SegmentKind::kRewards, number);
  // Sync knows the newest file alone.
  if (dirty_rewards_) BANDANA_RETURN_IF_ERROR(Sync());
  reward_file_ = AppendFile();
  BANDANA_RETURN_IF_ERROR(RemoveFile(path).status());
  BANDANA_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Make(path));
  BANDANA_RETURN_IF_ERROR(file.Append(EncodeHeader(header)));
  BANDANA_RETURN_IF_ERROR(SyncFolderOf(path));
  reward_file_ = std::move(file);
  if (!rewards_.empty()) rewards_.back().until = std::min(rewards_.back().until, now);
  rewards_.push_back({.number = number,
                      .made = now,
                      .bytes = kSegmentHeaderBytes,
                      .first_sequence = first_sequence});
  return absl::OkStatus();
}

absl::Status DecisionStore::PutLines(std::span<const Line> lines, absl::Time now,
                                     std::size_t& written) {
  const bool fits = decision_file_.is_open() && decision_file_.size() < SegmentBytes(options_) &&
                    now < decisions_.back().made + options_.keep / kSegmentsKept;
  if (!fits) BANDANA_RETURN_IF_ERROR(BeginDecisions(now));
  const std::uint64_t before = decision_file_.size();
  std::string frames;
  std::string rows;
  for (const Line& line : lines) {
    if (line.decision.empty() || line.decision.size() > kFrameBytesMax) continue;
    AppendRow(
        UserRow{.user = line.user, .offset = static_cast<std::uint32_t>(before + frames.size())},
        rows);
    AppendFrame(line.decision, frames);
    ++written;
  }
  const std::uint64_t users_before = user_file_.size();
  BANDANA_RETURN_IF_ERROR(user_file_.Append(rows));
  if (const absl::Status put = decision_file_.Append(frames); !put.ok()) {
    if (!user_file_.CutTo(users_before).ok()) CloseDecisions();
    return put;
  }
  dirty_decisions_ = true;
  decisions_.back().lines += written;
  decisions_.back().bytes += frames.size() + rows.size();
  return absl::OkStatus();
}

std::size_t DecisionStore::Append(std::span<const Line> lines, absl::Time now) {
  std::size_t written = 0;
  if (lines.empty() || !PutLines(lines, now, written).ok()) return 0;
  counts_->Write(written);
  return written;
}

absl::Status DecisionStore::PutRows(std::span<const RewardRow> rows, absl::Time now) {
  const std::uint64_t begin = rows.front().sequence;
  const std::uint64_t sequence = std::max(last_sequence_, rows.back().sequence);
  const bool fits = reward_file_.is_open() && reward_file_.size() < kRewardSegmentBytes &&
                    now < rewards_.back().made + options_.keep / kSegmentsKept &&
                    sequence - rewards_.back().first_sequence <= 0xffffffff;
  if (!fits) BANDANA_RETURN_IF_ERROR(BeginRewards(begin, now));
  rewards_.back().until = now;
  std::string bytes;
  for (const RewardRow& row : rows) AppendRow(row, rewards_.back().first_sequence, bytes);
  BANDANA_RETURN_IF_ERROR(reward_file_.Append(bytes));
  dirty_rewards_ = true;
  rewards_.back().lines += rows.size();
  rewards_.back().bytes += bytes.size();
  last_sequence_ = sequence;
  return absl::OkStatus();
}

absl::Status DecisionStore::AppendRewards(std::span<const RewardRow> rows, absl::Time now) {
  if (rows.empty()) return absl::OkStatus();
  absl::Status put = PutRows(rows, now);
  while (!put.ok() && RemoveOldest()) put = PutRows(rows, now);
  return put;
}

absl::Status DecisionStore::Sync() {
  if (dirty_decisions_ && decision_file_.is_open()) {
    BANDANA_RETURN_IF_ERROR(user_file_.Sync());
    BANDANA_RETURN_IF_ERROR(decision_file_.Sync());
  }
  dirty_decisions_ = false;
  if (dirty_rewards_) BANDANA_RETURN_IF_ERROR(reward_file_.Sync());
  dirty_rewards_ = false;
  // Without it nobody would read again what the openings say.
  if (counts_->deferred() && !deferred_is_durable_) BANDANA_RETURN_IF_ERROR(counts_->Sync());
  deferred_is_durable_ = counts_->deferred();
  return absl::OkStatus();
}

bool DecisionStore::RemoveOldest() {
  if (decisions_.empty()) return false;
  if (decisions_.size() == 1) CloseDecisions();
  if (!RemoveDecisions(decisions_.front().number).ok()) return false;
  decisions_.erase(decisions_.begin());
  RemoveUnneededRewards();
  return true;
}

void DecisionStore::GiveUpSince(absl::Time time) {
  // A file is written until the next one is made, and the newest until now.
  std::size_t kept = 0;
  while (kept + 1 < decisions_.size() && decisions_[kept + 1].made < time) ++kept;
  while (kept > 0 && decisions_.size() > kept) {
    CloseDecisions();
    if (!RemoveDecisions(decisions_.back().number).ok()) return;
    decisions_.pop_back();
  }
  while (kept == 0 && RemoveOldest()) {
  }
}

void DecisionStore::RemoveAll() {
  GiveUp();
  while (decisions_.empty() && !rewards_.empty()) {
    if (!RemoveOldestRewards()) return;
  }
}

void DecisionStore::RemoveUnneededRewards() {
  // Rows came later than their decisions.
  const auto unneeded = [&] {
    return decisions_.empty() ? rewards_.size() > 1
                              : rewards_.front().until < decisions_.front().made;
  };
  while (!rewards_.empty() && unneeded()) {
    if (!RemoveOldestRewards()) return;
  }
}

bool DecisionStore::RemoveOldestRewards() {
  if (rewards_.size() == 1) {
    reward_file_ = AppendFile();
    dirty_rewards_ = false;
  }
  if (!RemoveFile(PathOf(SegmentKind::kRewards, rewards_.front().number)).ok()) return false;
  rewards_.erase(rewards_.begin());
  return true;
}

void DecisionStore::Retain(absl::Time now, bool disk_full) {
  // A file of a former process is not appended to.
  if (!reward_file_.is_open() && !rewards_.empty()) {
    rewards_.back().until = std::min(rewards_.back().until, now);
  }
  const auto too_much = [&] { return figures().bytes > options_.bytes_max; };
  // By the age of its oldest line, which is not older than the segment.
  const auto too_old = [&] { return decisions_.front().made + options_.keep <= now; };
  bool one_more = disk_full;
  while (!decisions_.empty() && (too_old() || too_much() || one_more)) {
    if (!RemoveOldest()) return;
    one_more = false;
  }
  while (decisions_.empty() && !rewards_.empty() && rewards_.front().made + options_.keep <= now) {
    if (!RemoveOldestRewards()) return;
  }
}

DecisionStore::Figures DecisionStore::figures() const {
  Figures figures;
  for (const Segment& segment : decisions_) {
    figures.lines += segment.lines;
    figures.bytes += segment.bytes;
  }
  for (const Segment& segment : rewards_) figures.bytes += segment.bytes;
  if (!decisions_.empty()) figures.oldest = decisions_.front().made;
  return figures;
}

}  // namespace bandana::server
