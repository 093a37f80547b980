// What a device sends of its context and reward in an experiment, as the server decodes it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/bandits/context_statistics.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/planner/context_plan.h"
#include "tools/lab/noise.h"

namespace bandana::lab {

// Not thread-safe.
class ContextMechanism {
 public:
  virtual ~ContextMechanism() = default;
  // One event's estimate. Errors: UNAVAILABLE no noise.
  virtual absl::StatusOr<JointEstimate> Report(std::span<const double> x, double reward) = 0;
  // The variances of every report.
  virtual ReportVariance variance() const = 0;
  virtual std::string name() const = 0;
};

// How privunit's reports are drawn: by PrivUnit itself, seed after seed until one is accepted, or
// from the law of an accepted direction, which is the same (cap_law.h) and costs the same at every
// epsilon. kFast: by PrivUnit where it needs kSeedsMax seeds or fewer on average.
enum class PrivUnitDraws { kSeeds, kLaw, kFast };
inline constexpr double kSeedsMax = 40;

// Events clipped, and nothing else: no privacy.
std::unique_ptr<ContextMechanism> MakeExactContext(double context_l2_max, double reward_abs_max);

// `kind` at the request's scales, epsilon and delta. `noise` is the device's generator. Errors:
// INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<ContextMechanism>> MakeContextMechanism(
    const ContextPlanRequest& request, ContextMechanismKind kind, PrivUnitDraws draws,
    std::unique_ptr<LabNoise> noise);

}  // namespace bandana::lab
