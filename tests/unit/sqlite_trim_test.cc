// The cost of dropping entries from the SQLite log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "server/log/sqlite_log.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

// Without a thread of its own, so that what is written when is fixed.
class SqliteTrimTest : public ::testing::Test {
 protected:
  SqliteTrimTest() {
    options_.path = folder_.File("log.sqlite");
    options_.stepped = true;
  }
  void Create() { ASSERT_THAT(CreateSqliteLog(options_, {}), IsOk()); }
  std::unique_ptr<UpdateLog> Open() {
    auto log = OpenSqliteLog(options_);
    EXPECT_THAT(log, IsOk());
    return *std::move(log);
  }
  static absl::Status Append(UpdateLog& log, const std::vector<std::string>& records) {
    LogBatch batch;
    for (const std::string& record : records) batch.Add(record);
    return log.Append(batch);
  }

  TempDir folder_;
  server::SqliteLogOptions options_;
};

TEST_F(SqliteTrimTest, AnAppendTrimsAsWell) {
  FaultVfs& faults = FaultVfs::Instance();
  faults.Reset();
  options_.vfs = FaultVfs::kName;
  Create();
  {
    const auto log = Open();
    ASSERT_THAT(Append(*log, {"a", "b", "c", "d"}), IsOk());
    LogBatch batch;
    batch.Add("e");
    batch.trim_through = 3;
    const int before = faults.syncs;
    ASSERT_THAT(log->Append(batch), IsOk());
    EXPECT_EQ(faults.syncs, before + 1);
    EXPECT_EQ(log->trimmed(), 3u);
    EXPECT_THAT(log->Trim(3, 10), IsOk());  // erases what is left of them
  }
  const auto log = Open();
  EXPECT_EQ(log->trimmed(), 3u);
  EXPECT_EQ(log->last().sequence, 5u);
}

TEST_F(SqliteTrimTest, TheWriteAheadFileStartsAnewWhileOnlyTrimsGoOn) {
  options_.wal_pages_max = 20;
  Create();
  const auto log = Open();
  constexpr int kEntries = 2000;
  for (int i = 0; i < kEntries / 100; ++i) {
    ASSERT_THAT(Append(*log, std::vector<std::string>(100, std::string(1000, 'x'))), IsOk());
  }
  std::uintmax_t largest = 0;
  for (bool more = true; more;) {
    const absl::StatusOr<bool> trimmed = log->Trim(kEntries, 10);
    ASSERT_THAT(trimmed, IsOk());
    more = *trimmed;
    largest = std::max(largest, std::filesystem::file_size(options_.path + "-wal"));
  }
  EXPECT_EQ(log->trimmed(), std::uint64_t{kEntries});
  // The bound, and what appends and slices before it was noticed made of it.
  EXPECT_LT(largest, 10u * 20 * 4096);
}

}  // namespace
}  // namespace bandana::server
