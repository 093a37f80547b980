// Decision logs in memory, for tests and fuzz targets.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
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

struct ReadLog {
  std::vector<LoggedDecision> decisions;
  std::vector<DecisionFault> faults;
};

// All of the log. Aborts on an error of the bytes, of which a text in memory has none.
inline ReadLog ReadAll(DecisionStream& stream) {
  ReadLog log;
  LoggedDecision decision;
  for (;;) {
    DecisionFault fault;
    const auto next = stream.Read(decision, fault);
    BANDANA_CHECK(next.ok());
    if (*next == DecisionStream::Next::kEnd) return log;
    if (*next == DecisionStream::Next::kDecision) log.decisions.push_back(decision);
    if (*next == DecisionStream::Next::kFault) log.faults.push_back(fault);
  }
}

}  // namespace bandana::testing
