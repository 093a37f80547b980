// Cells of rows whose form was verified (sealed_rows.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "client/core/rows.h"

namespace bandana::device {

inline std::int64_t IntegerAt(const Record& row, std::size_t column) {
  return *std::get_if<std::int64_t>(&row[column]);
}
inline std::uint64_t CountAt(const Record& row, std::size_t column) {
  return static_cast<std::uint64_t>(IntegerAt(row, column));
}
inline double RealAt(const Record& row, std::size_t column) {
  return *std::get_if<double>(&row[column]);
}
inline const std::string& BytesAt(const Record& row, std::size_t column) {
  return *std::get_if<std::string>(&row[column]);
}
inline std::string TakeBytes(Record& row, std::size_t column) {
  return std::move(*std::get_if<std::string>(&row[column]));
}
inline Cell CountCell(std::uint64_t value) { return static_cast<std::int64_t>(value); }

}  // namespace bandana::device
