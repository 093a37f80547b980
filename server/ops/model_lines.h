// The lines of a start and a reload about the models.
#pragma once

#include "absl/status/status.h"
#include "server/models/registry.h"

namespace bandana::server {

// Into the log: each model and each alias, and what is wrong with aliases.
void LogServed(const ModelRegistry& registry);

// Why it is absent, with its name.
absl::Status WhyAbsent(const AbsentModel& model);

}  // namespace bandana::server
