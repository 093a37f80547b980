// Decision logs in memory, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "common/decisions/jsonl_reader.h"

namespace bandana::testing {

// Hands out the text at most `piece` bytes at a time.
inline DecisionBytes BytesOf(std::string text, std::size_t piece = 1 << 16) {
  return [text = std::move(text), piece, at = std::size_t{0}](
             char* buffer, std::size_t size) mutable -> absl::StatusOr<std::size_t> {
    const std::size_t count = std::min({piece, size, text.size() - at});
    std::memcpy(buffer, text.data() + at, count);
    at += count;
    return count;
  };
}

}  // namespace bandana::testing
