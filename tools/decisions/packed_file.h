// Text files that may be packed by gzip.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/decisions/jsonl_reader.h"

namespace bandana {

// Writes a file piece by piece, packed where its name ends in .gz. It stands under its name, mode
// 0600, once Finish has answered OK; until then, and after an error, what stood there before does.
// Not thread-safe.
class PackedFile {
 public:
  // Errors, as of all calls: NOT_FOUND no such folder; RESOURCE_EXHAUSTED the disk is full;
  // UNAVAILABLE I/O.
  static absl::StatusOr<PackedFile> Create(const std::string& path);
  PackedFile(PackedFile&&) noexcept = default;
  PackedFile& operator=(PackedFile&&) = delete;
  ~PackedFile();

  absl::Status Append(std::string_view text);
  // Makes the file durable. Call it once, last.
  absl::Status Finish();

 private:
  struct Closer {
    void operator()(gzFile file) const { gzclose(file); }
  };
  PackedFile(std::string path, int sync, gzFile file);

  std::string path_;  // empty: moved from
  int sync_;          // a descriptor of the file, for its end
  std::unique_ptr<gzFile_s, Closer> file_;
};

// The text of a file, plain or packed by gzip, of any length. Errors: NOT_FOUND no such file. Of
// the bytes: DATA_LOSS damaged or truncated gzip; UNAVAILABLE I/O.
absl::StatusOr<DecisionBytes> OpenPackedFile(const std::string& path);

}  // namespace bandana
