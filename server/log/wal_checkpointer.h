// Copies SQLite's write-ahead file into the database, beside the writer.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sqlite/sqlite.h"

namespace bandana::server {

// Copies what it can of the write-ahead file into the database, beside readers and the writer;
// returns how many of its pages have been copied so far, 0 when that is unknown. A full disk is no
// error: it is tried again. Errors: as SqliteStatus.
absl::StatusOr<int> CheckpointPass(SqliteConnection& connection);

// Does the bulk of a checkpoint whenever the write-ahead file has grown beyond its bound. The rest,
// what was committed meanwhile, is for the writer itself: SQLite starts the file anew only when
// nothing is left to copy, and a second thread that waits for the write lock of a busy writer
// starves. While the writer copies, it appends nothing: so the bulk is synced here, which SQLite
// leaves to whoever copies the last page, and is done again until the rest is small. Threads: safe.
class WalCheckpointer {
 public:
  // `stepped`: without a thread, so that the writer does the bulk as well.
  WalCheckpointer(SqliteConnection connection, int pages_max, bool stepped);
  ~WalCheckpointer();
  WalCheckpointer(const WalCheckpointer&) = delete;
  WalCheckpointer& operator=(const WalCheckpointer&) = delete;

  // `pages` frames are in the write-ahead file.
  void Notice(int pages);
  // True once after each bulk pass; the error of one that failed.
  absl::StatusOr<bool> TakeBulkDone();

 private:
  void Run();
  absl::Status CopyBulk();

  SqliteConnection connection_;
  const int pages_max_;
  const bool stepped_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = false;
  bool bulk_done_ = false;
  int pages_ = 0;  // in the write-ahead file
  bool stop_ = false;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace bandana::server
