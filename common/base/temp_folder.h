// A private folder that goes with its object, for what is tried out.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace bandana {

// Mode 0700. A program that is killed leaves it. Not thread-safe.
class TempFolder {
 public:
  // `prefix` and six letters that no other file has. Errors: UNAVAILABLE it cannot be made.
  static absl::StatusOr<TempFolder> Make(const std::string& prefix);
  // Where this machine keeps what is temporary: TMPDIR, else /tmp, else memory (/dev/shm). Errors:
  // UNAVAILABLE none of them can be written.
  static absl::StatusOr<TempFolder> OfMachine();
  TempFolder(TempFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempFolder& operator=(TempFolder&&) = delete;
  ~TempFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: moved from
};

}  // namespace bandana
