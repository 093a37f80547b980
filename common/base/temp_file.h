// A private file without a name, for what is too large for memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/mapped_file.h"

namespace bandana {

// Mode 0600. Its space is free again when it is closed, however the program ends; the destructor
// gives it back by and by (GiveBackSpace). Not thread-safe.
class TempFile {
 public:
  // On the disk of `folder`. Where the file system has no nameless files, it has a name for a
  // moment: RemoveTempFiles. Errors: NOT_FOUND no such folder; RESOURCE_EXHAUSTED the disk is full;
  // UNAVAILABLE any other I/O error.
  static absl::StatusOr<TempFile> Make(const std::string& folder);
  // As Make does where there are no nameless files.
  static absl::StatusOr<TempFile> MakeNamed(const std::string& folder);
  // In memory alone. Errors: UNAVAILABLE.
  static absl::StatusOr<TempFile> InMemory();
  TempFile(TempFile&& other) noexcept;
  TempFile& operator=(TempFile&& other) noexcept;
  ~TempFile();

  std::uint64_t size() const { return size_; }
  // Takes the disk's room for so many bytes now, so that nobody else is promised it; nothing on
  // file systems that cannot. Errors: RESOURCE_EXHAUSTED; UNAVAILABLE.
  absl::Status Reserve(std::uint64_t bytes);
  // Errors: RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE any other I/O error.
  absl::Status Append(std::string_view bytes);
  // Writes over bytes that are there. Errors: UNAVAILABLE I/O.
  absl::Status WriteAt(std::uint64_t offset, std::string_view bytes);
  // Fills `out` from `offset` on, but for what lies behind the end; returns how much. Errors:
  // UNAVAILABLE I/O.
  absl::StatusOr<std::size_t> ReadAt(std::uint64_t offset, std::span<char> out) const;
  // Maps the bytes written so far. Must be gone before the file is. Errors: UNAVAILABLE.
  absl::StatusOr<MappedFile> Map() const;

 private:
  TempFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}
  absl::Status Write(std::uint64_t offset, std::string_view bytes);

  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string folder_;  // for messages
};

// Removes what a program that was killed in MakeNamed has left in the folder. Nobody else may be
// using it. Errors: UNAVAILABLE I/O.
absl::Status RemoveTempFiles(const std::string& folder);

}  // namespace bandana
