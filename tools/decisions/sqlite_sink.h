// Decisions in a database of SQLite: docs/formats/decisions.md, SQLite.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tools/decisions/decision_sink.h"

namespace bandana {

// Errors: NOT_FOUND no such folder; UNAVAILABLE I/O.
absl::StatusOr<std::unique_ptr<DecisionSink>> OpenSqliteSink(const std::string& path);

}  // namespace bandana
