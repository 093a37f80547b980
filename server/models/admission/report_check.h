// From a reported outcome to the record that asks for entry into the log, or the reason why there
// is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "common/design/context_policy.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/model/entries/records.h"
#include "server/models/admission/report_gate.h"
#include "server/models/hosted_model.h"

namespace bandana::server {

struct CheckedOutcome {
  OutcomeRecord record;         // views into the outcome, or into `weighed`
  std::vector<double> weighed;  // CENTRED_RANDOMIZER: the features times EventScale
  bool other_arm = false;       // shown was another arm than the one that Select named
  double reward = 0;            // raw, as it counts; the record's may be another (arms, points)
  bool reward_clipped = false;
};

// The record that asks for it: of models whose windows the server closes a ReportRecord.
std::string RequestOf(const ModelSpec& spec, const CheckedOutcome& checked);

// What a report's sender is told of the gate's verdict. kNoRoom and kUnsealed are answered for the
// whole call: nothing.
OutcomeResult ResultOf(Admission admission);

// The event that stands in the log for a decision whose window the server closes. Requires arms and
// ClosesWindows(spec.public_spec).
DecisionRecord DecisionRecordOf(const ModelSpec& spec, const Decision& decision);

// Checks everything that does not depend on the log. `randomizer` is that of a local model. Views
// into `outcome`.
std::variant<CheckedOutcome, v1::RejectReason> CheckOutcome(const ModelSpec& spec,
                                                            const RewardRandomizer* randomizer,
                                                            const ReportedOutcome& outcome,
                                                            absl::Time now);

// The record that asks for entry of a counter's report. Views into the report. Requires what
// ReportedCounter says.
std::variant<CounterRecord, v1::RejectReason> CheckCounterReport(const ModelSpec& spec,
                                                                 const CounterDesign& design,
                                                                 const ReportedCounter& report,
                                                                 absl::Time now);

// The record that asks for entry of a context report. Views into the report. Requires what
// ReportedContext says.
std::variant<ContextRecord, v1::RejectReason> CheckContextReport(const ContextMechanism& mechanism,
                                                                 const ReportedContext& report,
                                                                 absl::Time now);

}  // namespace bandana::server
