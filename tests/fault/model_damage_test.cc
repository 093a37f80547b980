// Damaged files of a model: found, and survived where a second copy exists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

class ModelDamageTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<HostedModel>> Open() {
    server::HostedModelOptions options;
    options.warn = [this](const std::string& message) { warnings_.push_back(message); };
    return HostedModel::Open(SharedSpec(), folder_.path(), clock_, options);
  }
  // Reports `count` decisions, with a checkpoint after each of those in `checkpoints`.
  void Fill(int count, std::vector<int> checkpoints) {
    auto model = Open();
    ASSERT_THAT(model, IsOk());
    for (int i = 1; i <= count; ++i) {
      ASSERT_EQ(CodeOf(ReportOne(**model, DecisionOf(**model, clock_, i, {1, 0}), 1)), v1::APPLIED);
      if (!checkpoints.empty() && checkpoints.front() == i) {
        ASSERT_THAT((*model)->Checkpoint(), IsOk());
        checkpoints.erase(checkpoints.begin());
      }
    }
  }
  std::string Checkpoint(int sequence) {
    std::string digits = std::to_string(sequence);
    return folder_.File("checkpoint-" + std::string(20 - digits.size(), '0') + digits);
  }
  // Changes the byte in the middle of the file.
  void Damage(const std::string& path) {
    std::string bytes = *ReadFile(path, 1 << 30);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 16);
    ASSERT_THAT(WriteFileDurably(path, bytes, 0600), IsOk());
  }
  void ExpectAllThere(int count) {
    auto model = Open();
    ASSERT_THAT(model, IsOk());
    EXPECT_EQ(StatisticsOf(**model)[0].events, count);
    for (int i = 1; i <= count; ++i) {
      EXPECT_EQ(CodeOf(ReportOne(**model, DecisionOf(**model, clock_, i, {1, 0}), 1)),
                v1::DUPLICATE);
    }
  }

  TempDir folder_;
  FakeClock clock_;
  std::vector<std::string> warnings_;
};

TEST_F(ModelDamageTest, TheOlderCheckpointStepsIn) {
  Fill(30, {10, 20});
  Damage(Checkpoint(20));
  ExpectAllThere(30);
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0], HasSubstr("checkpoint-00000000000000000020"));
  EXPECT_THAT(warnings_[0], HasSubstr("checksum mismatch"));
  EXPECT_TRUE(std::filesystem::exists(folder_.File("damaged-checkpoint-00000000000000000020")));
  warnings_.clear();
  ExpectAllThere(30);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ModelDamageTest, ADamagedOnlyCheckpointIsRebuiltFromTheWholeLog) {
  Fill(20, {10});
  Damage(Checkpoint(10));
  ExpectAllThere(20);
  EXPECT_THAT(warnings_, SizeIs(2));
}

TEST_F(ModelDamageTest, WithoutAnyValidCheckpointATrimmedLogIsDataLoss) {
  Fill(30, {10, 20, 25});
  Damage(Checkpoint(20));
  Damage(Checkpoint(25));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "checkpoint"));
}

TEST_F(ModelDamageTest, AMissingCheckpointOfATrimmedLogIsDataLoss) {
  Fill(30, {10, 20, 25});
  std::filesystem::remove(Checkpoint(20));
  std::filesystem::remove(Checkpoint(25));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "the log begins at entry"));
}

TEST_F(ModelDamageTest, ALogThatEndsBeforeTheCheckpointIsDataLoss) {
  Fill(10, {});
  const std::string old = *ReadFile(folder_.File("log.sqlite"), 1 << 30);
  Fill(0, {});
  {
    auto model = Open();
    ASSERT_THAT(model, IsOk());
    ASSERT_EQ(CodeOf(ReportOne(**model, DecisionOf(**model, clock_, 11, {1, 0}), 1)), v1::APPLIED);
    ASSERT_THAT((*model)->Checkpoint(), IsOk());
  }
  std::filesystem::remove(folder_.File("log.sqlite-wal"));
  ASSERT_THAT(WriteFileDurably(folder_.File("log.sqlite"), old, 0600), IsOk());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "the log ends at entry 10"));
}

TEST_F(ModelDamageTest, ADamagedLogRecordIsNamed) {
  Fill(10, {});
  std::string bytes = *ReadFile(folder_.File("log.sqlite"), 1 << 30);
  // The reward 1.0 stands in every record; the first found from the end is in some record's bytes.
  const double reward = 1;
  const std::string pattern(reinterpret_cast<const char*>(&reward), sizeof reward);
  const std::size_t at = bytes.rfind(pattern);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 1;
  ASSERT_THAT(WriteFileDurably(folder_.File("log.sqlite"), bytes, 0600), IsOk());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "does not continue the running hash"));
}

TEST_F(ModelDamageTest, AMissingLogOrIdentityIsDataLoss) {
  Fill(10, {});
  std::filesystem::rename(folder_.File("identity"), folder_.File("hidden"));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "identity"));
  std::filesystem::rename(folder_.File("hidden"), folder_.File("identity"));
  ExpectAllThere(10);
  std::filesystem::remove(folder_.File("log.sqlite"));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "log.sqlite is missing"));
}

TEST_F(ModelDamageTest, ADamagedIdentityIsDataLoss) {
  Fill(1, {});
  Damage(folder_.File("identity"));
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "identity: checksum mismatch"));
}

TEST_F(ModelDamageTest, AHalfMadeFolderStartsAnew) {
  Fill(0, {});
  std::filesystem::remove(folder_.File("identity"));
  EXPECT_THAT(Open(), IsOk());
}

TEST_F(ModelDamageTest, ADamagedCatalogueIsDataLoss) {
  {
    auto model = Open();
    ASSERT_THAT(model, IsOk());
    v1::PutArmsResponse response;
    ASSERT_THAT(
        (*model)->PutArms(std::vector<server::CatalogueArm>{{1, {0.5, 0.25}, {"tag"}}}, &response),
        IsOk());
  }
  std::string bytes = *ReadFile(folder_.File("arms.sqlite"), 1 << 30);
  const std::size_t at = bytes.rfind("tag");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'b';
  ASSERT_THAT(WriteFileDurably(folder_.File("arms.sqlite"), bytes, 0600), IsOk());
  EXPECT_THAT(Open(), StatusIs(absl::StatusCode::kDataLoss, "arm 1"));
}

}  // namespace
}  // namespace bandana::testing
