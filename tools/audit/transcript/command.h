// `bandana-audit transcript`.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bandana::audit {

struct TranscriptCommand {
  std::uint64_t seeds = 0;      // 0: five for every combination
  std::int64_t first_seed = 0;  // negative: 0
  std::string mutant;           // empty: none
  bool list_mutants = false;
  std::string json;  // file to write, or empty
  int threads = 0;   // 0: as many as there are cores
};

// The exit code: 0, or 1 when something differs. Errors: INVALID_ARGUMENT the mutant's name; a
// world could not be set up; UNAVAILABLE the file.
absl::StatusOr<int> RunTranscriptCommand(const TranscriptCommand& command);

}  // namespace bandana::audit
