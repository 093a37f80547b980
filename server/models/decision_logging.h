// The decision log of a model: how it begins, and what the model's log says in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/decisions/segment.h"
#include "common/design/model_spec.h"
#include "common/model/entries/log_entry.h"
#include "server/decisions/decision_log.h"
#include "server/log/log_reader.h"
#include "server/models/decision_part.h"
#include "server/models/hosted_model.h"

namespace bandana::server {

// The rows of entries that a decision log keeps.
struct RowRule {
  int dimension = 0;
  bool openings = false;               // of windows: deferred decisions are lines from then on
  const DecisionPart* part = nullptr;  // null: of all decisions; else of those that it made
};
// Appends a row for each event of the entry, and for what else a decision's line depends on. An
// entry that does not parse has none: the state machine says so.
void AppendRows(const LogEntry& entry, const RowRule& rule, std::vector<RewardRow>& rows);

// The facts that all lines of the model have in common.
SegmentHeader FactsOf(const ModelSpec& spec, const InstanceId& instance);

struct DecisionLogPlace {
  const ModelSpec& spec;
  const std::string& folder;  // the model's
  const InstanceId& instance;
  const LogReader& log;
  std::uint64_t applied = 0;        // the entry that the model's state is at
  std::uint64_t issuer = 0;         // of the decisions that are answered from now on
  std::function<absl::Time()> now;  // the model's clock
};

struct OpenedDecisions {
  std::unique_ptr<DecisionLog> log;    // null: none is kept
  std::unique_ptr<DecisionPart> part;  // null: no other server has a part
};
// Opens the log that the configuration asks for, and adds what the model's log has applied since it
// was written. Where entries of that time are gone, the lines that one of them could be of go. None
// where the configuration asks for none, and then what was kept before is gone, or where the disk
// is full. Errors: those of DecisionPart::CatchUp; UNAVAILABLE I/O.
absl::StatusOr<OpenedDecisions> OpenDecisionLog(const DecisionLogPlace& place,
                                                const HostedModelOptions& options);

}  // namespace bandana::server
