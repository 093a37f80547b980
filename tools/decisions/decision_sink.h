// Files of decisions, in each format: docs/formats/decisions.md, Decision logs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/decisions/logged_decision.h"

namespace bandana {

// Takes decisions in the order of a log, in memory that does not grow with their number. The file
// stands under its name, mode 0600, once Finish has answered OK. Not thread-safe.
class DecisionSink {
 public:
  virtual ~DecisionSink() = default;
  // Errors, as of Finish: RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE I/O.
  virtual absl::Status Write(const LoggedDecision& decision) = 0;
  // Call it once, last.
  virtual absl::Status Finish() = 0;
};

// `format`: jsonl, obp, dsjson or sqlite; empty: by the name, which then ends in .jsonl, .csv,
// .dsjson or .sqlite. A .gz behind it, of any format, packs the file.
// Errors: INVALID_ARGUMENT another format, or a name that tells none; NOT_FOUND no such folder;
// UNAVAILABLE I/O.
absl::StatusOr<std::unique_ptr<DecisionSink>> OpenDecisionSink(const std::string& path,
                                                               std::string_view format);

}  // namespace bandana
