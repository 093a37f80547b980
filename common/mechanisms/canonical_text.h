// One text for one set of parameters, so that their hash means the same everywhere.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/sha256.h"

namespace bandana {

// Fields in a fixed order: integers as 8 bytes little-endian, doubles by their IEEE bits. The name
// comes first and ends in its version, so that no two mechanisms share a text.
class CanonicalText {
 public:
  explicit CanonicalText(std::string_view name) : text_(name) {}
  CanonicalText& Add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) text_.push_back(static_cast<char>(value >> shift));
    return *this;
  }
  CanonicalText& Add(double value) { return Add(std::bit_cast<std::uint64_t>(value)); }
  Sha256Digest Hash() const { return Sha256Of(text_); }

 private:
  std::string text_;
};

}  // namespace bandana
