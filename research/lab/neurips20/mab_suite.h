// The part of the suite without contexts: arms, best arm, convex losses.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "research/lab/experiment.h"

namespace bandana::lab {

std::vector<Experiment> ContextFreeExperiments();
std::vector<Contender> ContextFreeContenders();
std::vector<std::string_view> ContextFreeSettings();
// Nothing for a cell of another environment.
std::optional<absl::StatusOr<CellResult>> RunContextFree(const Cell& cell);

}  // namespace bandana::lab
