// The data folder, held by one process at a time.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace bandana::server {

// Holds an advisory lock on data_dir/LOCK from Acquire to destruction; the system drops it when the
// process dies.
class DataDirLock {
 public:
  // Makes the folder (mode 0700) where missing. Errors: FAILED_PRECONDITION another process holds
  // it; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<DataDirLock>> Acquire(const std::string& data_dir);
  ~DataDirLock();
  DataDirLock(const DataDirLock&) = delete;
  DataDirLock& operator=(const DataDirLock&) = delete;

 private:
  explicit DataDirLock(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace bandana::server
