// A decision log in lines of JSON, decision by decision: docs/formats/decisions.md, Decision logs.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"
#include "common/decisions/jsonl_line.h"
#include "common/decisions/line_reader.h"

namespace bandana {

// A bad line is told and passed over. Lines of one list stand together, in the order of their
// slots.
class JsonlReader final : public DecisionStream {
 public:
  explicit JsonlReader(DecisionBytes bytes);

  absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault& fault) override;
  std::uint64_t line() const override { return first_; }

  // That were looked at, empty ones among them.
  std::uint64_t lines() const { return reader_.number(); }

 private:
  // The next line that is not empty, into line_. False: the end. `status` says whether it is sound.
  absl::StatusOr<bool> ReadLine(absl::Status& status);
  Next Fault(std::uint64_t first, std::uint64_t lines, std::string_view reason,
             std::string_view message, DecisionFault& fault);
  void TakeSlot(LoggedDecision& decision);

  LineReader reader_;
  JsonLineParser parser_;
  DecisionLine line_;
  std::uint64_t first_ = 0;  // line of the decision
  bool held_ = false;        // line_ was read, but belongs to the next decision
  absl::Status held_status_;
};

}  // namespace bandana
