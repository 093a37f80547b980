// Reading a log from a position on.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "absl/status/status.h"
#include "server/log/update_log.h"

namespace bandana::server {

// Hands over every entry after the position, in order, up to the sequence `through`. Ends with the
// first error: what `take` answers, or that of LogReader::Read, when the entries before the damage
// have been handed over.
absl::Status ForEachEntry(const LogReader& log, LogPosition after,
                          const std::function<absl::Status(const LogEntry&)>& take,
                          std::uint64_t through = std::numeric_limits<std::uint64_t>::max());

}  // namespace bandana::server
