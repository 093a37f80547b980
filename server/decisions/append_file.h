// A file that grows at its end, and in which bytes may be written over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace bandana::server {

// Mode 0600. One process writes it; others may read meanwhile. Movable. Not thread-safe.
class AppendFile {
 public:
  // Makes a new file. Errors: RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE, also where there is
  // one.
  static absl::StatusOr<AppendFile> Make(const std::string& path);
  // Opens one that is there. Errors: NOT_FOUND; UNAVAILABLE.
  static absl::StatusOr<AppendFile> Open(const std::string& path);
  AppendFile() = default;
  AppendFile(AppendFile&& other) noexcept { *this = std::move(other); }
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // All or nothing, but for a crash. Errors: RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE.
  absl::Status Append(std::string_view bytes);
  // Requires that they lie within the file. Errors: UNAVAILABLE.
  absl::Status WriteAt(std::uint64_t offset, std::string_view bytes);
  absl::Status CutTo(std::uint64_t size);
  absl::Status Sync();

 private:
  AppendFile(int fd, std::string path, std::uint64_t size)
      : fd_(fd), path_(std::move(path)), size_(size) {}
  absl::Status Put(std::uint64_t offset, std::string_view bytes);

  int fd_ = -1;
  std::string path_;
  std::uint64_t size_ = 0;
};

}  // namespace bandana::server
