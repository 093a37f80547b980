// Tables as text: comma-separated cells with a header (RFC 4180).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"
#include "common/decisions/line_reader.h"

namespace bandana {

inline constexpr std::size_t kCsvColumnsMax = 10'000;

// Hands out rows in the memory of the longest. A cell with a comma, a quote or a line end is in
// quotes, a quote in it stands twice. Empty lines are skipped. Not thread-safe.
class CsvReader {
 public:
  enum class Next { kRow, kFault, kEnd };

  explicit CsvReader(DecisionBytes bytes) : reader_(std::move(bytes)) {}

  // The header's cells. Call it once, first. Errors: INVALID_ARGUMENT none is there, it has more
  // than kCsvColumnsMax columns, or a column twice; those of the bytes.
  absl::StatusOr<std::vector<std::string>> ReadHeader();

  // `cells` gets as many as the header has. A row that has others, or a quote out of place, is a
  // fault. So is a last row without a line end: its last number may be cut. Errors: those of the
  // bytes.
  absl::StatusOr<Next> Read(std::vector<std::string>& cells, DecisionFault& fault);

  std::uint64_t line() const { return line_; }  // the row's first one, from 1

 private:
  // Splits the next record. False: the end. `problem`: why it is none.
  absl::StatusOr<bool> ReadRecord(std::vector<std::string>& cells, std::string& problem);

  LineReader reader_;
  std::uint64_t line_ = 0;
  std::size_t columns_ = 0;
};

}  // namespace bandana
