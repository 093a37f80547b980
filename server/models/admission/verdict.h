// The meaning of the gate's verdicts: the answer to a report's sender, and the figure that counts
// it.
#pragma once

#include <cstddef>
#include <optional>

#include "bandana/v1/recommender.pb.h"
#include "common/model/entries/report.h"
#include "server/log/log_writer.h"

namespace bandana::server {

// nullopt: nothing is decided about the report, the whole call is refused.
std::optional<ReportResult> ResultOf(Admission verdict);

// Index into Counters of such answers.
std::size_t CounterOf(v1::OutcomeCode code, v1::RejectReason reason);

}  // namespace bandana::server
