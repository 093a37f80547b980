// Entries that are erased on demand, from a log that does not erase what it drops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "server/log/log_engine.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

absl::Status Append(UpdateLog& log, const std::vector<std::string>& records) {
  LogBatch batch;
  for (const std::string& record : records) batch.Add(record);
  return log.Append(batch);
}

// Records of one size after others are gone: pages split, and copies stay in their gaps.
TEST(LogErasureTest, ErasedEntriesLeaveNoBytes) {
  const std::string secret = "bytes-of-an-entry-that-is-erased";
  const TempDir folder;
  const auto engine = server::DefaultLogEngine();
  ASSERT_THAT(engine->Create(folder.path(), {}), IsOk());
  auto opened = engine->Open(folder.path(), {});
  ASSERT_THAT(opened, IsOk());
  const std::unique_ptr<UpdateLog> log = *std::move(opened);
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(Append(*log, {absl::StrCat(secret, std::string(i * 7 % 900, 'x'), i)}), IsOk());
  }
  ASSERT_THAT(Append(*log, {"left"}), IsOk());
  log->EraseTrimmed();
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = log->Trim(200, 64);
  ASSERT_THAT(more, IsOk());
  const auto found = [&] {
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      const auto bytes = ReadFile(file.path(), 100 << 20);
      EXPECT_THAT(bytes, IsOk());
      files += bytes->find(secret) != std::string::npos ? 1 : 0;
    }
    return files;
  };
  EXPECT_EQ(found(), 0);
  std::vector<LogEntry> left;
  ASSERT_THAT(log->ReadLeft(200, 10, left), IsOk());
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].record, "left");
  EXPECT_EQ(left[0].position, log->last());
  left.clear();
  ASSERT_THAT(log->ReadLeft(150, 10, left), IsOk());  // trimmed
  EXPECT_THAT(left, IsEmpty());
  ASSERT_THAT(Append(*log, {"a", "b", "c"}), IsOk());
  ASSERT_THAT(log->ReadLeft(200, 3, left), IsOk());
  EXPECT_THAT(left, SizeIs(3));
  EXPECT_EQ(left[2].record, "b");
}

}  // namespace
}  // namespace bandana::server
