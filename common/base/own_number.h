// Numbers that a model counts by itself, as callers of an alias see them.
#pragma once

#include <cstdint>

namespace bandana {

// Under an alias the versions and epochs that a server names have, above so many bits, a tag of the
// model whose they are. Only those of one model are in order. 2^40 is three years of 10,000 events
// per second.
inline constexpr int kOwnNumberBits = 40;

inline bool OfOneModel(std::uint64_t a, std::uint64_t b) {
  return a >> kOwnNumberBits == b >> kOwnNumberBits;
}

}  // namespace bandana
