// Statistics and ledger of a model as operators see them.
#pragma once

#include <cstdint>

#include "bandana/v1/admin.pb.h"
#include "common/wire/model_spec.h"
#include "server/models/counters.h"

namespace bandana::server {

// Fills the reports_*, *_clipped and rejection fields. Rejections that never happened are left out.
void FillCounters(const Counters::Values& values, v1::GetStatsResponse& stats);

// `events`: accepted; `events_of_one`: most of one node over all epochs. Event-level reading: each
// event is another record, so the releases compose in parallel. User-level reading: k events of one
// user add up to k epsilon (basic composition, pure epsilon).
v1::GetLedgerResponse LedgerOf(const PublicSpec& spec, std::uint64_t events,
                               std::uint64_t events_of_one, std::uint64_t epoch);

}  // namespace bandana::server
