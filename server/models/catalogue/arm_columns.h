// The numbers of one page's arms, a column per field: which of them lie in a range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bandana::server {

// Numbers of a field from `least` to `most`, both included.
struct NumberRange {
  std::uint32_t field = 0;  // its number in the catalogue
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool absent_passes = false;  // an arm that has no such number
};

// Threads: immutable once it is filled.
class ArmColumns {
 public:
  struct Column {
    std::uint32_t field = 0;
    std::vector<double> values;  // by row; NaN: the arm has none, as those beyond the end
  };
  void Set(std::uint32_t field, std::uint32_t row, double value);
  // NaN where the arm has none.
  double Get(std::uint32_t field, std::uint32_t row) const;
  bool Passes(const NumberRange& range, std::uint32_t row) const;
  // Takes the marks (0 or 1) from rows outside of the range.
  void Keep(const NumberRange& range, std::span<std::uint8_t> marks) const;

  std::span<const Column> columns() const { return columns_; }
  std::size_t bytes() const;

 private:
  const Column* Find(std::uint32_t field) const;

  std::vector<Column> columns_;
};

}  // namespace bandana::server
