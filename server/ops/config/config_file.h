// Configuration files: text -> ServerSpec, every mistake with its line, column and field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/ops/config/server_spec.h"

namespace bandana::server {

struct ConfigMistake {
  int line = 0;       // 1-based; 0 = of no line (a command-line flag)
  int column = 0;     // 1-based
  std::string field;  // path, e.g. models[2].privacy.epsilon; empty for what is no field
  std::string message;
};

// `FILE:LINE:COLUMN: models[2].privacy.epsilon: message`
std::string ToString(std::string_view file, const ConfigMistake& mistake);

struct ConfigResult {
  std::optional<ServerSpec> spec;       // present exactly when there are no mistakes
  std::vector<ConfigMistake> mistakes;  // by line
};

// Parses the text format of ServerConfig. Files named in it resolve against `folder`. Never fails
// otherwise than by mistakes.
ConfigResult ParseConfig(std::string_view text, std::string_view folder,
                         const ConfigOptions& options);

// ParseConfig of a file, relative to its folder. Errors: as ReadFile.
absl::StatusOr<ConfigResult> LoadConfig(const std::string& path, const ConfigOptions& options);

}  // namespace bandana::server
