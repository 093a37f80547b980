// The common part of the mechanisms for private contexts.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/promise/mechanism.h"

namespace bandana {

// phi of the policy's features and reported rewards.
absl::StatusOr<JointStatistic> ReportedStatistic(const PublicSpec& spec, int grid_bits);

MadeMechanism MakeContextMechanism(const MechanismRow& row, const PublicSpec& spec,
                                   std::unique_ptr<const ContextReports> reports);

}  // namespace bandana
