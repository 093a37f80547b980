// The coupling part of a ModelConfig: graph and users, inline or from files.
#pragma once

#include <string>
#include <string_view>

#include "common/design/model_spec.h"
#include "common/promise/field_checks.h"

namespace bandana {

// Where files named in a configuration come from.
struct FileSource {
  std::string_view folder;  // relative paths resolve against it
  bool allowed = false;     // false: naming a file is a mistake
};

// Content of the file named by `field`; empty with a mistake reported when it is refused or cannot
// be read.
std::string ReadConfigFile(std::string_view field, const std::string& path, std::uint64_t bytes_max,
                           const FileSource& files, const FieldChecks& checks);

// Fills coupling, bandit.nodes_max, users and cold_start_node of the spec, and puts graph and users
// inline into spec.config. Requires spec.bandit.dimension (any value: a wrong
// one is reported elsewhere).
void ParseCoupling(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                   const FieldChecks& checks);

// ParseCoupling for a coupling with a graph: reads `graph` and `users` of the checks' message.
void ParseGraphCoupling(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                        const FieldChecks& checks);

}  // namespace bandana
