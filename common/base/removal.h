// Files that go, without others waiting for the disk.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

// Cuts an open file a stretch at a time, with a pause after each, unless it has a name. A file
// system that gives gigabytes back at once lets whoever else waits for the disk wait some 50 ms: a
// log that learns. Who still reads the file sees it end early. Takes some 10 ms for each 16 MiB. No
// error is told: closing the file gives the rest back.
void GiveBackSpace(int fd);

// A file that is about to lose its name: held open meanwhile, so that its space can be given back
// afterwards. A crash in between leaves nothing, for the file has no name. Not thread-safe.
class LeavingFile {
 public:
  // Opens `path`, unless it is missing or no plain file.
  explicit LeavingFile(const std::string& path);
  LeavingFile(const LeavingFile&) = delete;
  LeavingFile& operator=(const LeavingFile&) = delete;
  ~LeavingFile();

  // Once its name is gone; nothing for a file that has another name.
  void GiveBack() {
    if (fd_ >= 0) GiveBackSpace(fd_);
  }

 private:
  int fd_;
};

// Removes the file at once, and then gives its space back. False: there was none. Errors:
// UNAVAILABLE I/O, a folder that is not empty.
absl::StatusOr<bool> RemoveFile(const std::string& path);

// Removes a folder with all that is in it; nothing where there is none. Errors: UNAVAILABLE I/O.
absl::Status RemoveFolder(const std::string& path);

}  // namespace bandana
