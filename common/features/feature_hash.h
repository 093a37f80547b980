// The hash of texts among a field's entries. It is fixed for good: it is part of what a model's
// entries mean (docs/formats.md#hashed-values).
#pragma once

#include <cstdint>
#include <string_view>

namespace bandana {

// FNV-1a of 64 bits over the bytes (http://www.isthe.com/chongo/tech/comp/fnv), then the last three
// steps of MurmurHash3 (fmix64), which spread every byte over all bits.
std::uint64_t FeatureHash(std::string_view text);

// One of 2^bits entries. bits in [1, 12].
inline int HashedEntry(std::string_view text, int bits) {
  return static_cast<int>(FeatureHash(text) & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace bandana
