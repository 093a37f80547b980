// Whole files, read and written durably. All paths are used as given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/byte_sink.h"

namespace bandana {

// Errors: NOT_FOUND no such file; RESOURCE_EXHAUSTED larger than bytes_max; UNAVAILABLE any other
// I/O error.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::uint64_t bytes_max);

// Writes path + ".tmp", syncs it, renames it over path and syncs the folder. After OK the new
// content survives a crash, until then the old one. Only a crash leaves the ".tmp".
absl::Status WriteFileDurably(const std::string& path, std::string_view content, int mode);
// As above, for content that does not fit in memory. Errors: the source's as well.
absl::Status WriteFileDurably(const std::string& path, const ByteSource& content, int mode);

// Syncs the folder that holds `path`, so that what was made, renamed or removed there stays so.
// Errors: NOT_FOUND, UNAVAILABLE I/O.
absl::Status SyncFolderOf(const std::string& path);

// Makes the folder and its parents (mode 0700) where missing, durably.
absl::Status MakeFolders(const std::string& path);

// The bytes that the file system of `folder` has free for this user. Errors: NOT_FOUND, UNAVAILABLE
// I/O.
absl::StatusOr<std::uint64_t> FreeBytes(const std::string& folder);

// `path` itself when absolute, else `folder`/`path`.
std::string ResolvePath(std::string_view path, std::string_view folder);

}  // namespace bandana
