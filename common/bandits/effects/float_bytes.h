// Runs of floats in a file.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "common/base/bytes.h"

namespace bandana {

inline void WriteFloats(ByteWriter& out, std::span<const float> values) {
  out.Fixed(std::as_bytes(values));
}

// Whether all were there and are finite.
inline bool ReadFloats(ByteReader& in, std::span<float> values) {
  in.Fixed(std::as_writable_bytes(values));
  if (!in.ok()) return false;
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace bandana
