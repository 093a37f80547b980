// Tables that ObpRows has written, decision by decision: docs/formats/decisions.md, Tables of
// decisions.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"

namespace bandana {

// Reads the columns under the names of members of a line of JSON, and no others, so that a decision
// reads back as it was. A last row without its line end is told as cut.
class ObpReader final : public DecisionStream {
 public:
  // Whether a header has the columns that a decision needs.
  static bool Knows(std::span<const std::string> header);

  // Errors: INVALID_ARGUMENT no such header; those of the bytes.
  static absl::StatusOr<std::unique_ptr<ObpReader>> Open(DecisionBytes bytes);
  ~ObpReader() override;

  absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault& fault) override;
  std::uint64_t line() const override { return lines_->line(); }

 private:
  struct Rows;
  explicit ObpReader(std::unique_ptr<Rows> rows);

  std::unique_ptr<Rows> rows_;
  std::unique_ptr<DecisionStream> lines_;
};

}  // namespace bandana
