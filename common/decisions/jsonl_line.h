// One line of a decision log: bytes to fields.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// A line alone: a decision without slots, and one slot of it.
struct DecisionLine {
  LoggedDecision head;
  LoggedSlot slot;
  std::uint32_t at = 0;    // position of the slot
  std::uint32_t list = 1;  // slots of the decision
};

// Parses by simdjson. Not thread-safe. Members that it does not know are skipped.
class JsonLineParser {
 public:
  // Bytes that must be readable behind a line.
  static const std::size_t kPaddingBytes;

  JsonLineParser();
  ~JsonLineParser();

  // Fills `line`, whose buffers are used again. Shapes and types are checked, and that numbers are
  // finite; CheckDecision knows what a decision must be beyond that. Errors: INVALID_ARGUMENT
  // "FIELD: constraint"; `line` is then anything.
  absl::Status Parse(std::string_view text, DecisionLine& line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace bandana
