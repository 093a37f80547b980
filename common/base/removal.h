// Files that go, without others waiting for the disk.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

// A file that is about to lose its name. A file system that gives gigabytes back at once lets
// whoever else waits for the disk wait some 50 ms: a log that learns. So the file is held open
// while its name goes, and is then cut a stretch at a time, with a pause after each. Who still
// reads it by then sees it end early. A crash meanwhile leaves nothing: the file has no name. Not
// thread-safe.
class LeavingFile {
 public:
  // Opens `path`, unless it is missing or no plain file.
  explicit LeavingFile(const std::string& path);
  LeavingFile(const LeavingFile&) = delete;
  LeavingFile& operator=(const LeavingFile&) = delete;
  ~LeavingFile();

  // Once its name is gone; nothing for a file that has another name. Takes some 10 ms for each 16
  // MiB. No error is told: closing the file gives the rest back.
  void GiveBack();

 private:
  int fd_;
};

// Removes the file at once, and then gives its space back. False: there was none. Errors:
// UNAVAILABLE I/O, a folder that is not empty.
absl::StatusOr<bool> RemoveFile(const std::string& path);

// Removes a folder with all that is in it; nothing where there is none. Errors: UNAVAILABLE I/O.
absl::Status RemoveFolder(const std::string& path);

}  // namespace bandana
