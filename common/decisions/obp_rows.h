// A decision log as a table in Open Bandit Pipeline's columns: docs/formats/decisions.md, Tables
// of decisions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/decisions/logged_decision.h"

namespace bandana {

// Turns decisions into rows of CSV (RFC 4180, LF), one per slot. The columns are an index without a
// name, those of the Open Bandit Dataset (timestamp, item_id, position, click, propensity_score),
// the members of a line of JSON under their names, in JSON, and user_feature_NAME for each scalar
// of the first decision's context. `click` is empty where no reward is known.
//
// Not thread-safe.   Errors: none.   Source: columns of [SAMN21], github.com/st-tech/zr-obp, obd/.
class ObpRows {
 public:
  // Appends the decision's rows, before the first one the header.
  void Append(const LoggedDecision& decision, std::string& text);
  // Appends the header where no decision came.
  void End(std::string& text);

 private:
  void AppendHeader(const LoggedDecision* first, std::string& text);
  void AppendFeatures(const LoggedDecision& decision, std::string& text);

  bool begun_ = false;
  std::uint64_t rows_ = 0;
  std::vector<std::string> features_;  // names of the context's scalars
  std::string cell_;
};

}  // namespace bandana
