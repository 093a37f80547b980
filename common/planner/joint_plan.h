// Which counter AUTO takes in mode JOINT.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"

namespace bandana {

struct JointPlan {
  v1::CounterKind kind = v1::EPOCHS;
  std::string text;  // the table it was chosen by
};

// The counter of the least predicted error over `planned` events of one node. Errors:
// INVALID_ARGUMENT no counter can run.
absl::StatusOr<JointPlan> PlanJoint(const ModelSpec& spec, std::uint64_t planned);

}  // namespace bandana
