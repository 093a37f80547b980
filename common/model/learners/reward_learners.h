// Learners of models whose events have a reward each that may be read.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/learners/learner.h"

namespace bandana {

// One for each family. `variance`: the largest of a reward's noise, 0 without any. Errors: as
// EventPath::MakeLearner.
using RewardLearner = absl::StatusOr<std::unique_ptr<Learner>> (*)(
    const ModelSpec& spec, const ModelState& state, double variance,
    std::vector<NodeStatistics> statistics);

absl::StatusOr<std::unique_ptr<Learner>> MakeLinearLearner(const ModelSpec& spec,
                                                           const ModelState& state, double variance,
                                                           std::vector<NodeStatistics> statistics);
absl::StatusOr<std::unique_ptr<Learner>> MakeArmsLearner(const ModelSpec& spec,
                                                         const ModelState& state, double variance,
                                                         std::vector<NodeStatistics> statistics);
absl::StatusOr<std::unique_ptr<Learner>> MakePointsLearner(const ModelSpec& spec,
                                                           const ModelState& state, double variance,
                                                           std::vector<NodeStatistics> statistics);

}  // namespace bandana
