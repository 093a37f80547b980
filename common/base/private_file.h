// Files that hold secrets.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bandana {

// ReadTextFile of a file that only its owner may read: permission bits 0600 or fewer. A file that
// root owns may have 0640, which is how secrets are mounted for a service that is not root. Errors:
// NOT_FOUND no such file; INVALID_ARGUMENT another encoding; FAILED_PRECONDITION others may read
// it, or it is no regular file; RESOURCE_EXHAUSTED larger than bytes_max; UNAVAILABLE any other I/O
// error. No message quotes the content.
absl::StatusOr<std::string> ReadPrivateFile(const std::string& path, std::uint64_t bytes_max);

// Differs when a file was replaced or rewritten.
struct FileVersion {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const FileVersion&, const FileVersion&) = default;
};

// The version of the file behind symbolic links. All zeros when there is none.
FileVersion VersionOf(const std::string& path);

}  // namespace bandana
