// Values of statements for PostgreSQL, in its binary format: big-endian integers, raw bytes,
// one-dimensional arrays of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bandana::server {

struct PgValue {
  std::uint32_t type = 0;  // OID of the type
  std::string bytes;

  static PgValue Int(std::int64_t value);
  static PgValue Unsigned(std::uint64_t value) { return Int(static_cast<std::int64_t>(value)); }
  static PgValue Bytes(std::string_view value);
  static PgValue Text(std::string_view value);
  static PgValue Ints(std::span<const std::int64_t> values);
  static PgValue ManyBytes(std::span<const std::string> values);
};
using PgValues = std::vector<PgValue>;

// A column of type bigint. 0 for another length.
std::int64_t PgInt(std::string_view bytes);

}  // namespace bandana::server
