#include "server/log/wal_checkpointer.h"

#include <sqlite3.h>

#include <utility>

#include "common/base/status.h"
#include "server/log/sqlite.h"

namespace bandana::server {

namespace {

constexpr int kPassesMax = 4;

// Through SQLite's own file: closing another one would drop its locks.
absl::Status SyncDatabase(SqliteConnection& connection) {
  sqlite3_file* file = nullptr;
  int code = sqlite3_file_control(connection.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK) code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  return SqliteStatus(code, nullptr, "sync");
}

}  // namespace

absl::StatusOr<int> CheckpointPass(SqliteConnection& connection) {
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, &copied);
  const int primary = code & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_FULL) return 0;
  BANDANA_RETURN_IF_ERROR(SqliteStatus(code, connection.get(), "checkpoint"));
  return copied;
}

WalCheckpointer::WalCheckpointer(SqliteConnection connection, int pages_max, bool stepped)
    : connection_(std::move(connection)), pages_max_(pages_max), stepped_(stepped) {
  if (!stepped_) thread_ = std::thread([this] { Run(); });
}

WalCheckpointer::~WalCheckpointer() {
  if (stepped_) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WalCheckpointer::Notice(int pages) {
  {
    std::lock_guard lock(mutex_);
    pages_ = pages;
    if (pages < pages_max_) return;
    if (bulk_done_) return;  // a second pass would only be in the way of the writer's
    (stepped_ ? bulk_done_ : due_) = true;
  }
  changed_.notify_one();
}

absl::StatusOr<bool> WalCheckpointer::TakeBulkDone() {
  std::lock_guard lock(mutex_);
  if (!status_.ok()) return status_;
  return std::exchange(bulk_done_, false);
}

absl::Status WalCheckpointer::CopyBulk() {
  for (int pass = 0; pass < kPassesMax; ++pass) {
    BANDANA_ASSIGN_OR_RETURN(const int copied, CheckpointPass(connection_));
    BANDANA_RETURN_IF_ERROR(SyncDatabase(connection_));
    const std::lock_guard lock(mutex_);
    if (stop_ || pages_ - copied <= pages_max_ / 8) break;
  }
  return absl::OkStatus();
}

void WalCheckpointer::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return due_ || stop_; });
    if (stop_) return;
    due_ = false;
    lock.unlock();
    const absl::Status done = CopyBulk();
    lock.lock();
    due_ = false;  // what came meanwhile is the writer's, whom another pass would be in the way of
    status_.Update(done);
    bulk_done_ = true;
  }
}

}  // namespace bandana::server
