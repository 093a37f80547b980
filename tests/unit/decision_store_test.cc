#include "server/decisions/decision_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/sha256.h"
#include "server/decisions/decision_files.h"
#include "server/decisions/decision_reader.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stored_decisions.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

std::string FileAt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DecisionStoreTest : public ::testing::Test {
 protected:
  DecisionStore::Options Options() {
    return {.folder = dir_.path() + "/decisions",
            .facts = {.instance = IdOf(1),
                      .range = {.min = 0, .max = 1},
                      .reported_within = absl::Hours(24)},
            .keep = absl::Hours(24 * 7),
            .bytes_max = 1 << 30};
  }
  std::unique_ptr<DecisionStore> Open() { return Open(Options()); }
  static std::unique_ptr<DecisionStore> Open(DecisionStore::Options options) {
    auto store = DecisionStore::Open(std::move(options));
    EXPECT_THAT(store.status(), IsOk());
    return *std::move(store);
  }
  // Decisions `from` to `to`, of users 1, 2 and 3 in turn.
  static void Add(DecisionStore& store, std::uint64_t from, std::uint64_t to,
                  absl::Time now = kNow) {
    std::vector<DecisionStore::Line> lines;
    for (std::uint64_t n = from; n < to; ++n) {
      store.counts().Take();
      lines.push_back({.decision = BytesOf(DecisionOf(n)), .user = UserOf(1 + n % 3)});
    }
    EXPECT_EQ(store.Append(lines, now), lines.size());
  }
  static void Reward(DecisionStore& store, std::uint64_t from, std::uint64_t to) {
    std::vector<RewardRow> rows;
    for (std::uint64_t n = from; n < to; ++n) rows.push_back(RewardOf(n, n + 1, 0.5));
    EXPECT_THAT(store.AppendRewards(rows, kNow), IsOk());
  }
  std::vector<LoggedDecision> Read(std::optional<UserPseudonym> only = std::nullopt) {
    auto reader = DecisionReader::Open(
        {.folders = {Options().folder}, .now = kNow, .users = true, .only = only});
    EXPECT_THAT(reader.status(), IsOk());
    std::vector<LoggedDecision> lines;
    LoggedDecision line;
    for (auto next = (*reader)->Next(line); next.ok() && *next; next = (*reader)->Next(line)) {
      lines.push_back(line);
    }
    EXPECT_EQ((*reader)->damaged(), 0u);
    return lines;
  }
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(Options().folder)) {
      files.push_back(entry.path().string());
    }
    return files;
  }

  TempDir dir_;
};

TEST_F(DecisionStoreTest, LinesHaveTheirRewardsAfterARestart) {
  {
    const auto store = Open();
    Add(*store, 0, 10);
    Reward(*store, 0, 4);
  }
  const auto store = Open();
  EXPECT_EQ(store->last_sequence(), 4u);
  Reward(*store, 4, 6);
  Add(*store, 10, 12);
  const std::vector<LoggedDecision> lines = Read();
  ASSERT_THAT(lines, SizeIs(12));
  for (std::size_t n = 0; n < lines.size(); ++n) {
    EXPECT_EQ(lines[n].version, 1000 + n);
    EXPECT_EQ(lines[n].slots[0].state == RewardState::kKnown, n < 6) << n;
  }
  EXPECT_EQ(store->figures().lines, 12u);
  EXPECT_EQ(store->counts().taken(), 12u);
  EXPECT_EQ(store->counts().written(), 12u);
}

// Whatever the last write was cut to, the lines before it are there, and each has its user.
TEST_F(DecisionStoreTest, CutFilesLoseTheLastLinesAlone) {
  for (const SegmentKind kind : {SegmentKind::kDecisions, SegmentKind::kUsers}) {
    for (const int cut : {1, 15, 30}) {
      std::filesystem::remove_all(Options().folder);
      { Add(*Open(), 0, 5); }
      const std::string path = SegmentPath(Options().folder, kind, 1);
      std::filesystem::resize_file(path, std::filesystem::file_size(path) - cut);
      const auto store = Open();
      Add(*store, 5, 7);
      const std::vector<LoggedDecision> lines = Read();
      const std::size_t lost = kind == SegmentKind::kUsers && cut > 20 ? 2 : 1;
      EXPECT_THAT(lines, SizeIs(7 - lost)) << cut;
      EXPECT_EQ(lines.back().user,
                "aa00000000000000"
                "0100000000000000");
    }
  }
}

TEST_F(DecisionStoreTest, RewardsAreTakenBack) {
  auto store = Open();
  Add(*store, 0, 10);
  Reward(*store, 0, 8);
  ASSERT_THAT(store->TakeBackFrom(6), IsOk());
  EXPECT_EQ(store->last_sequence(), 5u);
  store = Open();
  EXPECT_EQ(store->last_sequence(), 5u);
  Reward(*store, 7, 8);
  const std::vector<LoggedDecision> lines = Read();
  EXPECT_EQ(lines[4].slots[0].state, RewardState::kKnown);
  EXPECT_EQ(lines[5].slots[0].state, RewardState::kPending);
  EXPECT_EQ(lines[7].slots[0].state, RewardState::kKnown);
}

// Activations come alone where nothing is learnt for a while.
TEST_F(DecisionStoreTest, ActivationsAreInTheFileOfTheRewardsBefore) {
  const auto store = Open();
  Add(*store, 0, 10);
  Reward(*store, 4, 5);
  for (std::uint64_t n = 5; n < 10; ++n) {
    const RewardRow active{.kind = RewardKind::kActive, .decision = IdOf(n), .sequence = n + 1};
    EXPECT_THAT(store->AppendRewards({&active, 1}, kNow), IsOk());
  }
  EXPECT_THAT(store->segments(SegmentKind::kRewards), SizeIs(1));
  EXPECT_EQ(store->last_sequence(), 10u);
}

// A file may have decisions until the next one is made.
TEST_F(DecisionStoreTest, ATimeGivesUpTheFilesThatMayHaveLinesAfterIt) {
  DecisionStore::Options options = Options();
  options.keep = absl::Hours(16);  // a file per hour
  const auto store = Open(options);
  for (std::uint64_t hour = 0; hour < 4; ++hour) {
    Add(*store, 10 * hour, 10 * hour + 10, kNow + absl::Hours(hour));
  }
  ASSERT_THAT(store->segments(SegmentKind::kDecisions), SizeIs(4));
  store->GiveUpSince(kNow + absl::Hours(2) + absl::Minutes(30));
  EXPECT_THAT(store->segments(SegmentKind::kDecisions), SizeIs(2));
  store->GiveUpSince(kNow + absl::Hours(9));
  EXPECT_THAT(store->segments(SegmentKind::kDecisions), SizeIs(1)) << "the newest always may";
  store->GiveUpSince(kNow - absl::Hours(9));
  EXPECT_THAT(store->segments(SegmentKind::kDecisions), SizeIs(0));
}

// How far the model's log was read is known again, also after an older format.
TEST_F(DecisionStoreTest, TheCountsSayHowFarTheLogWasRead) {
  {
    const auto store = Open();
    EXPECT_EQ(store->counts().through().sequence, 0u);
    store->counts().SetThrough({.sequence = 7, .time = kNow});
    store->counts().SetDeferred();
    store->counts().Take();
  }
  const auto store = Open();
  EXPECT_EQ(store->counts().through().sequence, 7u);
  EXPECT_EQ(store->counts().through().time, kNow);
  EXPECT_TRUE(store->counts().deferred());
  std::filesystem::resize_file(Options().folder + "/counts", 24);
  const auto before = Open();
  EXPECT_EQ(before->counts().through().sequence, 0u);
  EXPECT_FALSE(before->counts().deferred());
  EXPECT_EQ(before->counts().taken(), 1u);
}

// Rows count from the first sequence of their file, in 32 bits.
TEST_F(DecisionStoreTest, ALogMayBeginLateInAModelsLife) {
  const std::uint64_t late = std::uint64_t{1} << 40;
  {
    const auto store = Open();
    Add(*store, 0, 2);
    for (const std::uint64_t sequence : {late, 3 * late}) {
      const RewardRow row = RewardOf(sequence == late ? 0 : 1, sequence, 0.5);
      EXPECT_THAT(store->AppendRewards({&row, 1}, kNow), IsOk());
    }
    EXPECT_THAT(store->segments(SegmentKind::kRewards), SizeIs(2));
  }
  EXPECT_EQ(Open()->last_sequence(), 3 * late);
  for (const LoggedDecision& line : Read()) EXPECT_EQ(line.slots[0].state, RewardState::kKnown);
}

// Nobody has reacted since: no later reward closes the file.
TEST_F(DecisionStoreTest, TheLastRewardGoesWithItsDecision) {
  for (const bool restart : {false, true}) {
    std::filesystem::remove_all(Options().folder);
    auto store = Open();
    Add(*store, 0, 1);
    Reward(*store, 0, 1);
    if (restart) store = Open();
    for (int day = 1; day <= 8; ++day) {
      const absl::Time now = kNow + day * absl::Hours(24);
      store->Retain(now, false);
      EXPECT_EQ(store->segments(SegmentKind::kRewards).empty(), day >= 7 + restart) << day;
      Add(*store, day, day + 1, now);
    }
  }
}

TEST_F(DecisionStoreTest, RewardsGoWithTheDecisionsBeforeThem) {
  auto store = Open();
  const absl::Duration keep = Options().keep;
  for (int day = 0; day < 10; ++day) {
    const absl::Time now = kNow + day * absl::Hours(24);
    if (day == 2) store = Open();
    store->Retain(now, false);
    Add(*store, day, day + 1, now);
    const RewardRow row = RewardOf(day, day + 1, 0.5);
    ASSERT_THAT(store->AppendRewards({&row, 1}, now), IsOk());
  }
  EXPECT_EQ(store->segments(SegmentKind::kDecisions).front().made, kNow + absl::Hours(24 * 3));
  EXPECT_EQ(store->segments(SegmentKind::kRewards).front().made, kNow + absl::Hours(24 * 3));
  store->Retain(kNow + 3 * keep, false);
  EXPECT_THAT(store->segments(SegmentKind::kDecisions), IsEmpty());
  EXPECT_THAT(store->segments(SegmentKind::kRewards), IsEmpty());
  Add(*store, 10, 11, kNow + 3 * keep);
  const RewardRow row = RewardOf(10, 11, 0.5);
  EXPECT_THAT(store->AppendRewards({&row, 1}, kNow + 3 * keep), IsOk());
  EXPECT_THAT(store->Sync(), IsOk());
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].slots[0].state, RewardState::kKnown);
}

TEST_F(DecisionStoreTest, ADeletedUserIsInNoFile) {
  const auto store = Open();
  Add(*store, 0, 300);
  Reward(*store, 0, 300);
  const std::vector<UserPseudonym> users = {UserOf(2)};
  const auto erased = store->Erase(users);
  ASSERT_THAT(erased.status(), IsOk());
  EXPECT_EQ(*erased, 100u);
  const std::string user(AsChars(UserOf(2)));
  const std::string decision(AsChars(IdOf(1)));  // of user 2, as 4, 7, ...
  for (const std::string& path : Files()) {
    const std::string bytes = FileAt(path);
    EXPECT_EQ(bytes.find(user), std::string::npos) << path;
    EXPECT_EQ(bytes.find(decision, kSegmentHeaderBytes), std::string::npos) << path;
  }
  EXPECT_THAT(Read(UserOf(2)), IsEmpty());
  const std::vector<LoggedDecision> lines = Read();
  ASSERT_THAT(lines, SizeIs(200));
  for (const LoggedDecision& line : lines) EXPECT_EQ(line.slots[0].state, RewardState::kKnown);
  Add(*store, 300, 301);
  EXPECT_THAT(Read(), SizeIs(201));
}

TEST_F(DecisionStoreTest, AnErasingThatHasBegunIsFinishedAtTheStart) {
  { Add(*Open(), 0, 30); }
  {
    std::ofstream begun(Options().folder + "/" + std::string(kErasingName), std::ios::binary);
    // As many as one call of an operator may name, and more.
    for (std::uint64_t i = 0; i < 70'000; ++i) begun << AsChars(UserOf(1000 + i));
    begun << AsChars(UserOf(3));
  }
  Open();
  EXPECT_THAT(Read(UserOf(3)), IsEmpty());
  EXPECT_THAT(Read(), SizeIs(20));
  EXPECT_FALSE(std::filesystem::exists(Options().folder + "/" + std::string(kErasingName)));
}

TEST_F(DecisionStoreTest, TheOldestGoByBytesAndByAge) {
  DecisionStore::Options options = Options();
  options.segment_bytes = 10'000;
  options.bytes_max = 60'000;
  auto store = Open(options);
  for (int i = 0; i < 20; ++i) {
    Add(*store, 20 * i, 20 * i + 20, kNow + absl::Hours(i));
    store->Retain(kNow + absl::Hours(i), false);
    EXPECT_LE(store->figures().bytes, options.bytes_max);
  }
  std::vector<LoggedDecision> lines = Read();
  EXPECT_GT(lines.front().version, 1000u);
  EXPECT_EQ(lines.back().version, 1399u);
  store->Retain(kNow + absl::Hours(17) + options.keep, false);
  lines = Read();
  ASSERT_FALSE(lines.empty());
  EXPECT_GE(lines.front().version, 1360u);
  store->Retain(kNow + absl::Hours(20) + options.keep, false);
  EXPECT_THAT(Read(), IsEmpty());
  Add(*store, 400, 401, kNow + absl::Hours(400));
  EXPECT_THAT(Read(), SizeIs(1));
}

TEST_F(DecisionStoreTest, AFullDiskTakesTheOldest) {
  DecisionStore::Options options = Options();
  options.segment_bytes = 10'000;
  const auto store = Open(options);
  for (int i = 0; i < 5; ++i) Add(*store, 40 * i, 40 * i + 40);
  const std::uint64_t before = store->figures().lines;
  store->Retain(kNow, true);
  EXPECT_LT(store->figures().lines, before);
  EXPECT_GT(store->figures().lines, 0u);
}

TEST_F(DecisionStoreTest, LinesThatAreTooLongAreLeftOut) {
  const auto store = Open();
  const std::vector<DecisionStore::Line> lines = {
      {.decision = std::string(kFrameBytesMax + 1, 'x'), .user = UserOf(1)},
      {.decision = BytesOf(DecisionOf(1)), .user = IdOf(1)}};
  EXPECT_EQ(store->Append(lines, kNow), 1u);
  EXPECT_THAT(Read(), SizeIs(1));
}

// The halves of two servers: decisions here and there, rewards at the owner, which has changed.
TEST_F(DecisionStoreTest, HalvesAreJoinedByDecision) {
  DecisionStore::Options other = Options();
  other.folder = dir_.path() + "/other";
  const auto here = Open();
  const auto there = Open(other);
  Add(*here, 0, 3);
  Add(*there, 3, 6);
  Reward(*here, 0, 5);
  Reward(*there, 4, 6);
  auto reader = DecisionReader::Open({.folders = {Options().folder, other.folder}, .now = kNow});
  ASSERT_THAT(reader.status(), IsOk());
  LoggedDecision line;
  for (std::uint64_t n = 0; n < 6; ++n) {
    ASSERT_TRUE(*(*reader)->Next(line));
    EXPECT_EQ(line.version, 1000 + n);
    EXPECT_EQ(line.slots[0].state, RewardState::kKnown);
    EXPECT_EQ(line.user, "");
  }
  EXPECT_FALSE(*(*reader)->Next(line));
}

}  // namespace
}  // namespace bandana::server
