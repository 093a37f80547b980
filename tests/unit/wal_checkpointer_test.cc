#include "server/log/wal_checkpointer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "server/log/sqlite.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr int kPagesMax = 16;

// A database with 25 pages in its write-ahead file, and a commit in the midst of its copying, as a
// log that learns always has one.
class WalCheckpointerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FaultVfs::Instance().Reset();
    auto writer = OpenSqlite(path(), FaultVfs::kName);
    auto own = OpenSqlite(path(), FaultVfs::kName);
    ASSERT_THAT(writer.status(), IsOk());
    ASSERT_THAT(own.status(), IsOk());
    writer_ = *std::move(writer);
    ASSERT_THAT(writer_.Exec("CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(100000));"), IsOk());
    checkpointer_ = std::make_unique<WalCheckpointer>(*std::move(own), kPagesMax, false);
    FaultVfs::Instance().syncs = 0;
    meanwhile_ = nullptr;
    FaultVfs::Instance().at_sync = [] {
      if (const auto commit = std::exchange(meanwhile_, nullptr)) commit();
    };
  }
  void TearDown() override {
    checkpointer_.reset();
    FaultVfs::Instance().Reset();
  }

  std::string path() const { return dir_.File("x.sqlite"); }
  void CopyBulk() {
    checkpointer_->Notice(25);
    for (;;) {
      const auto done = checkpointer_->TakeBulkDone();
      ASSERT_THAT(done.status(), IsOk());
      if (*done) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const TempDir dir_;
  SqliteConnection writer_;
  std::unique_ptr<WalCheckpointer> checkpointer_;
  static inline std::function<void()> meanwhile_;  // before the next sync, once
};

TEST_F(WalCheckpointerTest, SyncsWhatItCopiedAlthoughTheWriterGoesOn) {
  meanwhile_ = [this] { EXPECT_THAT(writer_.Exec("INSERT INTO t VALUES(1)"), IsOk()); };
  CopyBulk();
  // The write-ahead file, the commit, and the database, which SQLite itself leaves for later.
  EXPECT_EQ(FaultVfs::Instance().syncs, 3);
}

TEST_F(WalCheckpointerTest, CopiesAgainUntilLittleIsLeftForTheWriter) {
  meanwhile_ = [this] {
    EXPECT_THAT(writer_.Exec("INSERT INTO t VALUES(zeroblob(400000))"), IsOk());
    checkpointer_->Notice(125);
  };
  CopyBulk();
  EXPECT_GE(std::filesystem::file_size(path()), 500'000);
}

TEST_F(WalCheckpointerTest, DoesNotBeginAgainBeforeTheWriterHasEnded) {
  meanwhile_ = [this] { checkpointer_->Notice(26); };
  CopyBulk();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // The write-ahead file, the database by SQLite, and once more.
  EXPECT_EQ(FaultVfs::Instance().syncs, 3);
}

TEST_F(WalCheckpointerTest, TellsOfASyncThatFailed) {
  meanwhile_ = [this] {
    EXPECT_THAT(writer_.Exec("INSERT INTO t VALUES(1)"), IsOk());
    FaultVfs::Instance().fail_sync = true;
  };
  checkpointer_->Notice(25);
  absl::Status failed;
  while (failed.ok()) failed = checkpointer_->TakeBulkDone().status();
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
}

}  // namespace
}  // namespace bandana::server
