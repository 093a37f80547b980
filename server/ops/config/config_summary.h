// The meaning of a checked configuration in words: the output of --check_config and the start-up
// log.
#pragma once

#include <string>

#include "server/ops/config/server_spec.h"

namespace bandana::server {

// One line: mode, mechanism, guarantee, privacy parameters, shape.
std::string ModelLine(const ModelSpec& spec);

// One line: the models behind it, with their weights.
std::string AliasLine(const AliasSpec& alias);

// Whether the model promises less than a proven guarantee within the policy caps, and in which
// words; empty when it does not.
std::string Warning(const ModelSpec& spec);

// Every model with its reasons, and every alias, several lines, ending in a newline.
std::string Summary(const ServerSpec& spec);

}  // namespace bandana::server
