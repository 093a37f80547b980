// The gate of a model that has been recovered.
#pragma once

#include <vector>

#include "common/bandits/model.h"
#include "common/design/model_spec.h"
#include "common/model/state/model_state.h"
#include "server/models/admission/report_gate.h"

namespace bandana::server {

// `cells` must outlive the gate.
ReportGate::Options GateOptions(const ModelSpec& spec, const EventPath& path,
                                const CellCodec& cells);

// The gate's knowledge of the entries that made the state.
GateState GateStateOf(const ModelState& state, const std::vector<NodeStatistics>& statistics);

}  // namespace bandana::server
