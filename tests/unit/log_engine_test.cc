#include "server/log/log_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "common/base/status.h"
#include "server/log/log_reader.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class LogInFolderTest : public ::testing::Test {
 protected:
  std::unique_ptr<UpdateLog> Make(int entries) {
    EXPECT_THAT(engine_->Create(folder_.path(), {}), IsOk());
    auto log = OpenLog(*engine_, folder_.path());
    EXPECT_THAT(log, IsOk());
    LogBatch batch;
    for (int i = 1; i <= entries; ++i) batch.AddOwned(std::to_string(i));
    EXPECT_THAT((*log)->Append(batch), IsOk());
    return *std::move(log);
  }
  static absl::Status Read(const UpdateLog& log, std::vector<std::string>& records,
                           std::uint64_t through = UINT64_MAX) {
    return ForEachEntry(
        log, {},
        [&](const LogEntry& entry) {
          records.push_back(entry.record);
          return absl::OkStatus();
        },
        through);
  }
  void Tamper(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.File("log.sqlite").c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  }

  TempDir folder_;
  const std::shared_ptr<const LogEngine> engine_ = DefaultLogEngine();
};

TEST_F(LogInFolderTest, IsThereUntilItIsRemoved) {
  EXPECT_FALSE(engine_->Holds(folder_.path()));
  EXPECT_THAT(OpenLog(*engine_, folder_.path()),
              StatusIs(absl::StatusCode::kDataLoss, "is missing"));
  EXPECT_THAT(engine_->Remove(folder_.path()), IsOk());
  Make(1);
  EXPECT_TRUE(engine_->Holds(folder_.path()));
  EXPECT_TRUE(std::filesystem::exists(folder_.File(std::string(engine_->file()))));
  EXPECT_THAT(engine_->Remove(folder_.path()), IsOk());
  EXPECT_FALSE(engine_->Holds(folder_.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// An engine that finds nothing in the folder, which another one holds.
class ElsewhereEngine final : public LogEngine {
 public:
  std::string_view name() const override { return "elsewhere"; }
  std::string_view file() const override { return "log.elsewhere"; }
  bool Holds(const std::string&) const override { return false; }
  absl::Status Create(const std::string&, const LogPosition&) const override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<UpdateLog>> Open(const std::string&,
                                                  const server::LogUse&) const override {
    return DataLoss("missing");
  }
  absl::Status Remove(const std::string&) const override { return absl::OkStatus(); }
};

TEST_F(LogInFolderTest, OfAnotherEngineIsNotTakenForMissing) {
  EXPECT_THAT(OpenLog(ElsewhereEngine(), folder_.path()), StatusIs(absl::StatusCode::kDataLoss));
  Make(1);
  EXPECT_THAT(OpenLog(ElsewhereEngine(), folder_.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "is one of sqlite, and this server"));
}

TEST_F(LogInFolderTest, EveryEntryIsReadOnceAndInOrder) {
  constexpr int kEntries = 9000;  // more than two reads
  const auto log = Make(kEntries);
  std::vector<std::string> records;
  EXPECT_THAT(Read(*log, records), IsOk());
  ASSERT_THAT(records, SizeIs(kEntries));
  for (int i = 0; i < kEntries; ++i) EXPECT_EQ(records[i], std::to_string(i + 1));
  records.clear();
  EXPECT_THAT(Read(*log, records, 2), IsOk());
  EXPECT_THAT(records, ElementsAre("1", "2"));
  records.clear();
  EXPECT_THAT(Read(*log, records, 0), IsOk());
  EXPECT_THAT(records, IsEmpty());
}

TEST_F(LogInFolderTest, ReadingEndsWithTheFirstError) {
  Make(9).reset();
  Tamper("UPDATE log SET record = 'x' WHERE sequence = 5");
  const auto log = *OpenLog(*engine_, folder_.path());
  std::vector<std::string> records;
  EXPECT_THAT(Read(*log, records), StatusIs(absl::StatusCode::kDataLoss, "entry 5"));
  EXPECT_THAT(records, ElementsAre("1", "2", "3", "4"));
  records.clear();
  EXPECT_THAT(Read(*log, records, 4), IsOk());
  const auto refused = [](const LogEntry&) { return absl::AbortedError("no"); };
  EXPECT_THAT(ForEachEntry(*log, {}, refused), StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace bandana::server
