// The token keys' file: lines of text, newest key first, closed by a checksum.
//
//   bandana-token-keys 1
//   key ID CREATED_UNIX_MICROS SEALS_BOUND SECRET     (8 hex digits, decimal, decimal, 64 hex
//   digits) sha256 DIGEST                                     (of everything before this line)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bandana::server {

// A key at rest. Copies erase their secret on destruction.
struct StoredKey {
  StoredKey() = default;
  StoredKey(const StoredKey&) = default;
  StoredKey& operator=(const StoredKey&) = default;
  ~StoredKey();

  std::uint32_t id = 0;
  absl::Time created;
  std::uint64_t seals_bound = 0;  // at least the tokens sealed with it so far
  std::array<std::byte, 32> secret{};
};

// Errors: INVALID_ARGUMENT naming the line; the text is never quoted.
absl::StatusOr<std::vector<StoredKey>> ParseKeyFile(std::string_view text);
std::string FormatKeyFile(const std::vector<StoredKey>& keys);

// Errors: NOT_FOUND no file; FAILED_PRECONDITION not a regular file, or its mode lets others in;
// DATA_LOSS it does not parse; UNAVAILABLE I/O.
absl::StatusOr<std::vector<StoredKey>> ReadKeyFile(const std::string& path);
// Durable, mode 0600. Errors: UNAVAILABLE.
absl::Status WriteKeyFile(const std::string& path, const std::vector<StoredKey>& keys);

// Identity of a file's content, as far as stat tells.
struct FileStamp {
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
  std::int64_t bytes = 0;
  bool operator==(const FileStamp&) const = default;
};
absl::StatusOr<FileStamp> StampOf(const std::string& path);

// Excludes other processes (and other threads that open it anew) from updating the file, by flock
// on PATH.lock.
class KeyFileLock {
 public:
  static absl::StatusOr<KeyFileLock> Acquire(const std::string& path);
  KeyFileLock(KeyFileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  KeyFileLock& operator=(KeyFileLock&&) = delete;
  ~KeyFileLock();

 private:
  explicit KeyFileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace bandana::server
