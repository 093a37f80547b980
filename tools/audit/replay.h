// The replay audit: entries behind a checkpoint, replayed under another value of every setting, by
// a restart, a restore and an import, and behind an alias that is moved.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana::audit {

struct ReplayCounts {
  std::uint64_t settings = 0;  // fields of ModelConfig; each is in the table
  std::uint64_t cases = 0;     // setting x model x way, each under two keys where releases differ
  std::uint64_t equal = 0;
  std::uint64_t independent = 0;
  std::uint64_t refused = 0;
  std::vector<std::string> violations;  // one line each, without any value
};

// `mutant`: a name of ReplayFaults(), or "". `progress` is told of each model. Chance that a sound
// server is called a violator: below 1e-6 (docs/privacy/audit.md). Errors: NOT_FOUND no such
// mutant; INTERNAL a field of ModelConfig is not in the table, or nothing was released; UNAVAILABLE
// I/O.
absl::StatusOr<ReplayCounts> RunReplay(std::string_view mutant,
                                       const std::function<void(std::string_view)>& progress);

std::string ToJson(const ReplayCounts& counts);

}  // namespace bandana::audit
