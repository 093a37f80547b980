// ModelConfig -> ModelSpec as a server serves it: with AUTO replaced by the planner's choice.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "common/design/model_spec.h"

namespace bandana {

// As ParseModelConfig. Where the configuration of a private model says AUTO and allows a delta, the
// mechanism in force is the one of the least predicted error among those that a server runs, the
// spec's configuration names it, and `plan` holds the table it was chosen by. Without a delta AUTO
// is the randomizer: only pure mechanisms are left.
std::optional<ModelSpec> ParseServedModel(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors);

}  // namespace bandana
