// A folder for the files of one run, which are gone after it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// The destructor removes the folder. A small process beside this one removes it where this one is
// killed before, once children that were forked after, and run no program of their own, have ended
// as well. Not thread-safe.
class WorkFolder {
 public:
  // $TMPDIR (or /tmp)/bandana-NAME-XXXXXX, mode 0700. Errors: UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<WorkFolder>> Make(std::string_view name);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }

  // A child of this process that writes into the folder: it is killed as well where this process
  // is. Release it once it was waited for.
  void Hold(pid_t child);
  void Release(pid_t child);

 private:
  explicit WorkFolder(std::string path) : path_(std::move(path)) {}
  absl::Status StartGuard();
  void TellGuard() const;

  std::string path_;
  int to_guard_ = -1;  // the guard acts when nobody has it open any more
  pid_t guard_ = -1;
  std::vector<pid_t> children_;
};

}  // namespace bandana
