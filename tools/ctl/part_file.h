// A file that is there when it is complete, and not before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bandana {

// Written under its path + ".part", mode 0600, which goes away with the object unless Commit has
// renamed it. Not thread-safe.
class PartFile {
 public:
  // A part that a killed program left is written over. Errors: FAILED_PRECONDITION somebody writes
  // it now; NOT_FOUND no such folder; UNAVAILABLE I/O.
  static absl::StatusOr<PartFile> Create(const std::string& path);
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile();

  const std::string& part() const { return part_; }
  std::uint64_t size() const { return size_; }
  // Errors: RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE I/O.
  absl::Status Append(std::string_view bytes);
  // Everything written so far survives a crash from then on, as a part. Errors: as Append.
  absl::Status Sync();
  // Gives the synced file its name, durably. Errors: UNAVAILABLE I/O.
  absl::Status Commit();

 private:
  PartFile(int fd, std::string path) : fd_(fd), path_(std::move(path)), part_(path_ + ".part") {}

  int fd_ = -1;  // -1: nothing to remove
  std::uint64_t size_ = 0;
  std::string path_;
  std::string part_;
};

}  // namespace bandana
