// A file's bytes, read through a read-only memory map: any size, and no copy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bandana {

// While it lives, nobody may cut the file: reading behind its end kills the program, and so does a
// disk that cannot read. Movable; the bytes stay where they are.
class MappedFile {
 public:
  // Errors: NOT_FOUND no such file; FAILED_PRECONDITION not a regular file; UNAVAILABLE I/O.
  static absl::StatusOr<MappedFile> Open(const std::string& path);
  // The first `bytes` bytes of an open file, which may be closed afterwards, but not cut. `path`:
  // for messages.
  static absl::StatusOr<MappedFile> OfDescriptor(int fd, std::uint64_t bytes,
                                                 const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;  // empty: nothing is mapped
};

}  // namespace bandana
