// A decision log in lines of JSON, decision by decision: docs/formats.md, Decision logs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/decisions/decision_fault.h"
#include "common/decisions/jsonl_line.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// Fills a buffer with the next bytes of a log: how many, 0 at its end. Errors: I/O.
using DecisionBytes = std::function<absl::StatusOr<std::size_t>(char* buffer, std::size_t size)>;

// Reads a log of any length in the memory of its longest line, at most kDecisionLineBytesMax. A bad
// line is told and passed over. Lines of one list stand together, in the order of their slots. Not
// thread-safe.
class JsonlReader {
 public:
  enum class Next {
    kDecision,  // `decision` has the next one
    kFault,     // `fault` says why lines were passed over
    kEnd,
  };

  explicit JsonlReader(DecisionBytes bytes);

  // `decision` keeps its buffers from call to call. Errors: those of the bytes.
  absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault& fault);

  std::uint64_t lines() const { return number_; }  // that were looked at, empty ones among them

 private:
  // The next line that is not empty, into line_. False: the end. `status` says whether it is sound.
  absl::StatusOr<bool> ReadLine(absl::Status& status);
  absl::StatusOr<bool> FindLine(std::string_view& text);
  absl::Status Fill();
  Next Fault(std::uint64_t first, std::uint64_t lines, std::string_view reason,
             std::string_view message, DecisionFault& fault);
  void TakeSlot(LoggedDecision& decision);

  const DecisionBytes bytes_;
  JsonLineParser parser_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not handed out
  std::size_t end_ = 0;    // of what was read; padding follows
  bool ended_ = false;     // no more bytes come
  bool cut_ = false;       // the last line has no end
  std::uint64_t number_ = 0;

  DecisionLine line_;
  bool held_ = false;  // line_ was read, but belongs to the next decision
  absl::Status held_status_;
};

}  // namespace bandana
