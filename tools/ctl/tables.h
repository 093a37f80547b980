// Statistics and ledgers as tables for people: words, units, and nothing that does not apply.
#pragma once

#include <string>

#include "bandana/v1/admin.pb.h"

namespace bandana {

// A figure a line: name, value, and what one must know to read it. Programs read the JSON.
std::string StatsTable(const v1::GetStatsResponse& stats);
std::string DecisionLogTable(const v1::DecisionLogStats& log);
std::string LedgerTable(const v1::GetLedgerResponse& ledger);

}  // namespace bandana
