// Which checkpoint files are there, what each needs, and what is read when one is damaged.
#include "server/models/folder/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

namespace fs = std::filesystem;

constexpr int kDimension = 20;
constexpr int kNodes = 200;

class CheckpointStoreTest : public ::testing::Test {
 protected:
  CheckpointStoreTest() {
    TestRng rng(1);
    state_.dimension = kDimension;
    state_.statistics.resize(kNodes);
    for (NodeStatistics& node : state_.statistics) {
      node.gram.resize(kDimension * (kDimension + 1) / 2);
      node.moment.resize(kDimension);
      for (double& v : node.gram) v = rng.Normal();
      state_.state.events_at_epoch.push_back(0);
    }
  }

  void Open(CheckpointStore::Options options = {.base_bytes_min = 1000}) {
    options.folder = folder_.path();
    store_.emplace(std::move(options), [this](const std::string& w) { warnings_.push_back(w); });
  }
  // One more event of `node`, and a checkpoint of it. Returns what the log need not have.
  std::uint64_t Write(std::uint64_t sequence, int node = 3) {
    Change(sequence, node);
    const auto covered = store_->Write(sequence, Source());
    EXPECT_THAT(covered, IsOk());
    return covered.value_or(0);
  }
  void Change(std::uint64_t sequence, int node) {
    state_.state.position.sequence = sequence;
    state_.statistics[node].events += 1;
    state_.statistics[node].moment[0] += 0.5;
  }
  ByteSource Source() {
    return [this](const ByteSink& sink) { return server::EncodeAgain(state_, sink); };
  }
  // Names without the zeros before numbers.
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(std::regex_replace(entry.path().filename().string(), std::regex("-0+"), "-"));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string File(std::uint64_t sequence, const std::string& rest = "") {
    const std::string digits = std::to_string(sequence);
    return folder_.File("checkpoint-" + std::string(20 - digits.size(), '0') + digits + rest);
  }
  void Damage(const std::string& path) {
    std::string bytes = *ReadFile(path, 1 << 24);
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_THAT(WriteFileDurably(path, bytes, 0600), IsOk());
  }
  // The newest sound one has this sequence and, where that is the last one written, all its bytes.
  void ExpectNewest(std::uint64_t sequence) {
    const auto newest = store_->LoadNewest();
    ASSERT_THAT(newest, IsOk());
    ASSERT_TRUE(newest->has_value());
    EXPECT_EQ((*newest)->state.position.sequence, sequence);
    if (sequence == state_.state.position.sequence) {
      EXPECT_TRUE(server::EncodeAgain(**newest) == server::EncodeAgain(state_));
    }
  }

  TempDir folder_;
  Checkpoint state_;
  std::optional<CheckpointStore> store_;
  std::vector<std::string> warnings_;
};

constexpr char kSince1[] = ".since-00000000000000000001";

TEST_F(CheckpointStoreTest, SmallOnesAreWholeAndTwo) {
  Open({});
  EXPECT_EQ(Write(1), 0u);
  EXPECT_EQ(Write(2), 1u);
  EXPECT_EQ(Write(3), 2u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-2", "checkpoint-3"));
}

TEST_F(CheckpointStoreTest, ALargeOneIsTheBaseOfThoseAfterIt) {
  Open();
  EXPECT_EQ(Write(1), 1u);  // it is there twice
  EXPECT_THAT(Files(), ElementsAre("checkpoint-1", "checkpoint-1.copy"));
  EXPECT_EQ(Write(2), 1u);
  EXPECT_EQ(Write(3), 2u);
  EXPECT_EQ(Write(4), 3u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-1", "checkpoint-1.copy", "checkpoint-3.since-1",
                                   "checkpoint-4.since-1"));
  EXPECT_LT(fs::file_size(File(4, kSince1)), fs::file_size(File(1)) / 5);
  ExpectNewest(4);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CheckpointStoreTest, AnotherStoreBeginsWithANewBaseAndKeepsTheOldOneWhileItIsNeeded) {
  Open();
  Write(1);
  Write(2);
  Open();
  ExpectNewest(2);
  EXPECT_EQ(Write(3), 3u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-3", "checkpoint-3.copy"));
  Open({.base_bytes_min = 1 << 30});  // whole ones from here on
  EXPECT_EQ(Write(4), 3u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-3.copy", "checkpoint-4"));
}

TEST_F(CheckpointStoreTest, ANeededBaseStaysBesideAWholeOne) {
  Open();
  Write(1);
  Write(2);
  Open({});
  EXPECT_EQ(Write(3), 2u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-1", "checkpoint-1.copy", "checkpoint-2.since-1",
                                   "checkpoint-3"));
  Damage(File(3));
  ExpectNewest(2);
}

TEST_F(CheckpointStoreTest, WhenHalfHasChangedANewBaseComes) {
  Open();
  Write(1);
  for (int node = 0; node < kNodes; ++node) state_.statistics[node].moment[1] += 1;
  EXPECT_EQ(Write(2), 1u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-1", "checkpoint-1.copy", "checkpoint-2.since-1"));
  EXPECT_EQ(Write(3), 3u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-3", "checkpoint-3.copy"));
}

TEST_F(CheckpointStoreTest, AnyOneDamagedFileLosesNothing) {
  for (const std::string& rest : {std::string(), std::string(".copy")}) {
    Open();
    Write(1);
    Write(2);
    Damage(File(1, rest));
    ExpectNewest(2);
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove(entry.path());
  }
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("trying its copy")));
  Open();
  Write(1);
  Write(2);
  Damage(File(2, kSince1));
  ExpectNewest(1);  // and the log goes on from there
  EXPECT_THAT(warnings_.back(), HasSubstr("set aside"));
}

TEST_F(CheckpointStoreTest, WithoutAnySoundBaseItIsDataLoss) {
  Open();
  Write(1);
  Write(2);
  Damage(File(1));
  fs::remove(File(1, ".copy"));
  EXPECT_THAT(store_->LoadNewest(), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(CheckpointStoreTest, AloneNothingElseIsLeft) {
  Open();
  Write(1);
  Write(2);
  Write(3);
  Change(4, 5);
  EXPECT_THAT(store_->WriteAlone(4, Source()), IsOkAndHolds(4u));
  EXPECT_THAT(Files(), ElementsAre("checkpoint-4", "checkpoint-4.copy"));
  Write(5);
  // After a crash the same state is written again, beside a file that needs an earlier one.
  EXPECT_THAT(store_->WriteAlone(5, Source()), IsOkAndHolds(5u));
  EXPECT_THAT(Files(), ElementsAre("checkpoint-5", "checkpoint-5.copy"));
  ExpectNewest(5);
}

// By a crash. It would stay for ever, and with it what was to be erased.
TEST_F(CheckpointStoreTest, HalfWrittenFilesGo) {
  Open();
  Write(1);
  const auto leave = [&](const std::string& name) {
    ASSERT_THAT(WriteFileDurably(name, "half", 0600), IsOk());
  };
  leave(File(2, ".tmp"));
  leave(File(2, std::string(kSince1) + ".tmp"));
  leave(folder_.File("identity.tmp"));  // not the store's
  ExpectNewest(1);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-1", "checkpoint-1.copy", "identity.tmp"));
  leave(File(2, ".tmp"));
  Change(3, 1);
  EXPECT_THAT(store_->WriteAlone(3, Source()), IsOk());
  EXPECT_THAT(Files(), ElementsAre("checkpoint-3", "checkpoint-3.copy", "identity.tmp"));
}

TEST_F(CheckpointStoreTest, TheNewestTwiceIsNeverADifference) {
  Open({.newest_twice = true, .base_bytes_min = 0});
  EXPECT_EQ(Write(1), 1u);
  EXPECT_EQ(Write(2), 2u);
  EXPECT_THAT(Files(), ElementsAre("checkpoint-2", "checkpoint-2.copy"));
}

TEST_F(CheckpointStoreTest, SealedOnesAreReadWithTheirKey) {
  std::array<std::byte, CheckpointSeal::kKeyBytes> key{};
  Open({.base_bytes_min = 1000, .seal = *CheckpointSeal::Create(key)});
  Write(1);
  Write(2);
  ExpectNewest(2);
  EXPECT_TRUE(ReadFile(File(2, kSince1), 1 << 24)->starts_with("BANDSEAL"));
  Damage(File(1));
  ExpectNewest(2);
  Open();
  EXPECT_THAT(store_->LoadNewest(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace bandana::server
