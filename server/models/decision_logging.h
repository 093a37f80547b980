// The decision log of an owned model: how it begins, and what the model's log says in it.
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
#include "server/models/hosted_model.h"

namespace bandana::server {

// Appends a row for each event of the entry, and for what else a decision's line depends on. An
// entry that does not parse has none: the state machine says so.
void AppendRows(const LogEntry& entry, int dimension, std::vector<RewardRow>& rows);

// The facts that all lines of the model have in common.
SegmentHeader FactsOf(const ModelSpec& spec, const InstanceId& instance);

struct DecisionLogPlace {
  const ModelSpec& spec;
  const std::string& folder;  // the model's
  const InstanceId& instance;
  const LogReader& log;
  std::uint64_t applied = 0;        // the entry that the model's state is at
  std::function<absl::Time()> now;  // the model's clock
};

// Opens the log that the configuration asks for, and adds what the model's log has applied since
// its newest reward. Null where it asks for none, and then what was kept before is gone, or where
// the disk is full. Errors: FAILED_PRECONDITION servers share the model's log; UNAVAILABLE I/O.
absl::StatusOr<std::unique_ptr<DecisionLog>> OpenDecisionLog(const DecisionLogPlace& place,
                                                             const HostedModelOptions& options);

}  // namespace bandana::server
