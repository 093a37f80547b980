// Numbers of a record, as the log has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/sha256.h"

namespace bandana {

// A view of numbers of 8 bytes, little-endian and not aligned: of a vector before it is encoded, of
// the record's bytes after it was decoded. So a decoded record encodes to the bytes it came from.
template <typename Number>
class Packed {
 public:
  Packed() = default;
  Packed(std::span<const Number> numbers)  // NOLINT(google-explicit-constructor)
      : bytes_(AsChars(std::as_bytes(numbers))) {}
  Packed(const std::vector<Number>& numbers)  // NOLINT(google-explicit-constructor)
      : Packed(std::span<const Number>(numbers)) {}
  static Packed OfBytes(std::string_view bytes) {
    Packed packed;
    packed.bytes_ = bytes;
    return packed;
  }

  std::string_view bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size() / sizeof(Number); }
  bool empty() const { return bytes_.empty(); }
  std::vector<Number> Values() const {
    std::vector<Number> values(size());
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), size() * sizeof(Number));
    return values;
  }

 private:
  std::string_view bytes_;
};

using PackedDoubles = Packed<double>;
using PackedIntegers = Packed<std::int64_t>;
using PackedKeys = Packed<std::uint64_t>;

}  // namespace bandana
