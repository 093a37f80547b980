#include "server/log/wal_checkpointer.h"

#include <sqlite3.h>

#include <utility>

#include "server/log/sqlite.h"

namespace bandana::server {

absl::Status CheckpointPass(SqliteConnection& connection) {
  const int code = sqlite3_wal_checkpoint_v2(connection.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, nullptr);
  const int primary = code & 0xff;
  if (primary == SQLITE_BUSY || primary == SQLITE_FULL) return absl::OkStatus();
  return SqliteStatus(code, connection.get(), "checkpoint");
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
  if (pages < pages_max_) return;
  {
    std::lock_guard lock(mutex_);
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

void WalCheckpointer::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return due_ || stop_; });
    if (stop_) return;
    due_ = false;
    lock.unlock();
    const absl::Status done = CheckpointPass(connection_);
    lock.lock();
    status_.Update(done);
    bulk_done_ = true;
  }
}

}  // namespace bandana::server
