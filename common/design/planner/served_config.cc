#include "common/design/planner/served_config.h"

#include "common/design/planner/choice_table.h"

namespace bandana {

std::optional<ModelSpec> ParseServedModel(const v1::ModelConfig& config, std::string_view folder,
                                          bool allow_files, std::vector<ConfigError>& errors) {
  return ParseModelConfig(config, folder, allow_files, ChooseMechanism, errors);
}

}  // namespace bandana
