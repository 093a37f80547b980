// The verbs of bandana-ctl that look into a data folder whose server is stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/ctl/commands.h"

namespace bandana {

struct OfflineOptions {
  std::string config;                    // ServerConfig in text form, or ""
  std::string data_dir;                  // in place of the configuration's, or ""
  std::string model;                     // verify: "" = all
  std::optional<std::uint64_t> through;  // restore: drop every log entry after it
};

// Whether the words are one of these verbs.
bool IsOffline(const std::vector<std::string>& words);

// Runs it; `output` is to be shown also with an error. Errors: DATA_LOSS something is damaged;
// FAILED_PRECONDITION a server has the folder, or a key is missing; INVALID_ARGUMENT usage, or the
// configuration.
absl::Status RunOffline(const std::vector<std::string>& words, const OfflineOptions& options,
                        CommandOutput& output);

// One line a verb.
std::string OfflineHelp();

}  // namespace bandana
