// The wire form of protobuf messages: the fields of a message in the order of their numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace bandana {

// Appends fields to `out`, which outlives it. Numbers of fields are in [1, 2047]. Fields without
// presence are left out when they have their default, as protobuf does.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void Number(int field, std::uint64_t value) {
    if (value != 0) Present(field, value);
  }
  // A number with presence.
  void Present(int field, std::uint64_t value) {
    Tag(field, kVarint);
    Varint(value);
  }
  // A flag with presence.
  void Flag(int field, bool value) { Present(field, value ? 1 : 0); }
  void Bytes(int field, std::string_view value) {
    if (!value.empty()) Message(field, value);
  }
  // A submessage, or an element of a repeated field: written though it is empty.
  void Message(int field, std::string_view value) {
    Tag(field, kBlock);
    Varint(value.size());
    out_.append(value);
  }
  // A real with presence.
  void Real(int field, double value) {
    Tag(field, kFixed64);
    Fixed(value);
  }
  // A number of type fixed32 with presence.
  void Fixed32(int field, std::uint32_t value) {
    Tag(field, kFixed32);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof bytes);
  }
  void PackedReals(int field, std::span<const double> values) {
    if (values.empty()) return;
    Tag(field, kBlock);
    Varint(values.size_bytes());
    for (const double value : values) Fixed(value);
  }
  // Numbers of type fixed32.
  void PackedFixed(int field, std::span<const std::uint32_t> values) {
    Bytes(field, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  // Numbers of type sint64.
  void PackedIntegers(int field, std::span<const std::int64_t> values) {
    std::string packed;
    WireWriter writer(packed);
    for (const std::int64_t value : values) {
      writer.Varint(static_cast<std::uint64_t>(value) << 1 ^
                    static_cast<std::uint64_t>(value >> 63));
    }
    Bytes(field, packed);
  }

 private:
  static constexpr int kVarint = 0, kFixed64 = 1, kBlock = 2, kFixed32 = 5;

  void Tag(int field, int kind) { Varint(static_cast<std::uint64_t>(field << 3 | kind)); }
  void Varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) out_ += static_cast<char>((value & 127) | 128);
    out_ += static_cast<char>(value);
  }
  void Fixed(double value) {
    static_assert(std::endian::native == std::endian::little);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof bytes);
  }

  std::string& out_;
};

}  // namespace bandana
