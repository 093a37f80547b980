#include "server/log/postgresql/pg_value.h"

#include <array>

namespace bandana::server {
namespace {

// From the catalogue pg_type, whose numbers never change.
constexpr std::uint32_t kBytea = 17;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kByteaArray = 1001;
constexpr std::uint32_t kInt8Array = 1016;

template <typename Number>
void PutBigEndian(Number value, std::string& out) {
  for (int shift = 8 * static_cast<int>(sizeof value) - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> shift));
  }
}

// One dimension, no nulls, elements from 1 on. An array without elements has no dimension.
std::string ArrayHead(std::uint32_t element, std::size_t count) {
  std::string out;
  PutBigEndian<std::uint32_t>(count > 0 ? 1 : 0, out);
  PutBigEndian<std::uint32_t>(0, out);
  PutBigEndian(element, out);
  if (count == 0) return out;
  PutBigEndian(static_cast<std::uint32_t>(count), out);
  PutBigEndian<std::uint32_t>(1, out);
  return out;
}

}  // namespace

PgValue PgValue::Int(std::int64_t value) {
  PgValue made{.type = kInt8};
  PutBigEndian(value, made.bytes);
  return made;
}

PgValue PgValue::Bytes(std::string_view value) {
  return {.type = kBytea, .bytes = std::string(value)};
}

PgValue PgValue::Text(std::string_view value) {
  return {.type = kText, .bytes = std::string(value)};
}

PgValue PgValue::Ints(std::span<const std::int64_t> values) {
  PgValue made{.type = kInt8Array, .bytes = ArrayHead(kInt8, values.size())};
  for (const std::int64_t value : values) {
    PutBigEndian<std::uint32_t>(sizeof value, made.bytes);
    PutBigEndian(value, made.bytes);
  }
  return made;
}

PgValue PgValue::ManyBytes(std::span<const std::string> values) {
  PgValue made{.type = kByteaArray, .bytes = ArrayHead(kBytea, values.size())};
  for (const std::string& value : values) {
    PutBigEndian(static_cast<std::uint32_t>(value.size()), made.bytes);
    made.bytes += value;
  }
  return made;
}

std::int64_t PgInt(std::string_view bytes) {
  if (bytes.size() != sizeof(std::int64_t)) return 0;
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value);
}

}  // namespace bandana::server
