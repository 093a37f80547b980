// Tab-separated .dat tables with a header line, as the HetRec 2011 data sets have them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana {

// One data row; its views are valid during the callback only.
class DatRow {
 public:
  DatRow(std::string_view file, int line, std::span<const std::string_view> columns,
         std::span<const std::string_view> fields)
      : file_(file), line_(line), columns_(columns), fields_(fields) {}

  int line() const { return line_; }
  std::string_view text(int column) const { return fields_[column]; }
  // The field as a decimal integer. Errors: INVALID_ARGUMENT unless it is one in [min, max].
  absl::StatusOr<int> Number(int column, int min, int max) const;
  // INVALID_ARGUMENT `file:line: message`.
  absl::Status Error(std::string_view message) const;

 private:
  std::string_view file_;
  int line_;
  std::span<const std::string_view> columns_;
  std::span<const std::string_view> fields_;
};

// Calls `row` for each data row of `text`, whose header must name exactly `columns`. Lines end with
// LF or CRLF, the last one too: a file cut in the middle of a line is an error even when the rest
// of that line looks whole. Errors: INVALID_ARGUMENT `file:line: ...`, and what `row` returns; the
// first one ends the walk.
absl::Status ForEachDatRow(std::string_view text, std::string_view file,
                           std::span<const std::string_view> columns,
                           const std::function<absl::Status(const DatRow&)>& row);

struct DatFile {
  std::string path;  // of the file that was read
  std::string text;
};

// `folder`/`name`, or `folder`/`name`.xz decompressed when the plain file is missing. Errors:
// NOT_FOUND neither is there; others as ReadFile and DecompressXz, with the path before them.
absl::StatusOr<DatFile> ReadDatFile(std::string_view folder, std::string_view name);

}  // namespace bandana
