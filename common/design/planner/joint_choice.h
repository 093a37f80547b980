// Which counter AUTO takes in mode JOINT.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/bandits/joint/joint_model.h"
#include "common/design/model_spec.h"

namespace bandana {

// The input of the prediction: a counter of `steps_max` steps at most, tuned to `horizon`.
JointModel::Options JointRequestOf(const ModelSpec& spec, std::uint64_t horizon,
                                   std::uint64_t steps_max);

// The counter of the least predicted error over the events of one node that are planned for.
// Errors: INVALID_ARGUMENT none can run.
absl::StatusOr<PlannedMechanism> ChooseJointCounter(const ModelSpec& spec);
// As above for the counter in force.
absl::StatusOr<std::string> ExplainJointCounter(const ModelSpec& spec);

}  // namespace bandana
