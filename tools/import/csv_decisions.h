// A table of choices, of any program, as decisions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/csv_reader.h"
#include "common/decisions/decision_stream.h"
#include "common/mechanisms/reward_range.h"
#include "tools/import/arm_list.h"

namespace bandana {

// Which column has which part. Empty: none has it.
struct CsvColumns {
  std::string arm;         // required: an id or a name
  std::string reward;      // required; an empty cell: no reward came
  std::string propensity;  // of the arm; required, but with a uniform law
  std::string decision;    // empty: each row is a decision, named by its line
  std::string slot;  // from 0 or from 1: rows of one decision that follow each other are a list
  std::string time;  // RFC 3339, perhaps with a space or without zone (UTC); seconds since 1970
  std::string user;
  std::vector<std::string> context;  // names; with * at the end, all that begin so
};

// "decision=d,arm=item_id,context=user_*,context=hour". Errors: INVALID_ARGUMENT another part, one
// that stands twice, or arm or reward is missing.
absl::StatusOr<CsvColumns> ParseCsvColumns(std::string_view text);

enum class ImportedLaw {
  kLogged,   // propensities as the log has them
  kChosen,   // those of chosen arms alone, although the log has others
  kUniform,  // every arm on offer had the same chance
};

struct CsvOptions {
  CsvColumns columns;
  ImportedLaw law = ImportedLaw::kLogged;
  RewardRange range;
  // Up to so many arms stand in each line; where there are more, an arm is known by its position.
  std::size_t arms_in_line_max = 1000;
};

// The arms of a column, sorted. Errors: INVALID_ARGUMENT the table has no such column; those of
// ArmList, with the line; those of the bytes.
absl::StatusOr<ArmList> ReadCsvArms(DecisionBytes bytes, const std::string& column);

// All arms of `arms`, which must outlive it, are on offer in every row.
class CsvDecisions final : public DecisionStream {
 public:
  // Errors: INVALID_ARGUMENT the table has not a column that is named; those of the bytes.
  static absl::StatusOr<std::unique_ptr<CsvDecisions>> Open(DecisionBytes bytes, CsvOptions options,
                                                            const ArmList& arms);

  absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault& fault) override;
  std::uint64_t line() const override { return line_; }

 private:
  // Positions of columns; -1: none.
  struct Positions {
    int arm = -1, reward = -1, propensity = -1, decision = -1, slot = -1, time = -1, user = -1;
    std::vector<std::pair<std::size_t, std::string>> context;
  };
  // One row: a decision without slots, and a slot of it.
  struct Row {
    LoggedDecision head;
    LoggedSlot slot;
    std::uint64_t at = 0;  // the slot's cell
    std::uint64_t line = 0;
    std::string_view reason;  // of a fault; empty: the row is sound
    std::string message;
  };

  CsvDecisions(DecisionBytes bytes, CsvOptions options, const ArmList& arms)
      : options_(std::move(options)), arms_(arms), reader_(std::move(bytes)) {}

  absl::StatusOr<bool> ReadRow();
  void FillRow();
  void FillHead();
  void FillArm();
  void FillLaw(LoggedDecision& decision) const;
  void Fault(std::string_view reason, std::string message);

  const CsvOptions options_;
  const ArmList& arms_;
  CsvReader reader_;
  Positions at_;
  std::vector<std::string> cells_;
  Row row_;
  bool held_ = false;  // row_ was read, but belongs to the next decision
  int base_ = -1;      // what slots count from; -1: not known yet
  std::uint64_t line_ = 0;
};

}  // namespace bandana
