// PRIVUNIT at large epsilons, where a device tries a thousand seeds per report: what the server
// would decode is drawn from its law.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/context_statistics.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/cap_design.h"
#include "common/mechanisms/joint_statistic.h"
#include "common/random/real_samplers.h"
#include "research/lab/neurips20/context_learner.h"
#include "research/lab/noise.h"

namespace bandana::lab {

// Seeds that a device tries for one report, on average. Requires a model with PRIVUNIT.
double SeedsOf(const ModelSpec& spec);

// The server's decoding of such a model's reports. Not thread-safe.
class LawReports {
 public:
  // Requires a model with PRIVUNIT, which must outlive this. Errors: INVALID_ARGUMENT its cap.
  static absl::StatusOr<LawReports> Create(const ModelSpec& spec, std::unique_ptr<LabNoise> noise);

  // A report of (x, r), clipped as JointStatistic does it. Errors: UNAVAILABLE no noise.
  absl::StatusOr<JointEstimate> Draw(std::span<const double> x, double reward);

 private:
  LawReports(const JointStatistic& statistic, const CapDesign& design,
             std::unique_ptr<LabNoise> noise);
  // (phi, sqrt(2 - |phi|^2)) / sqrt(2).
  std::vector<double> Lift(std::span<const double> x, double reward) const;

  JointStatistic statistic_;
  CapDesign design_;
  std::unique_ptr<LabNoise> noise_;
  std::unique_ptr<RealSampler> sampler_;
};

// A learner as that of MakeReported, but that no report is ever a seed: cap_law.h's directions are
// unpacked, added up and made a posterior as a server does it. Requires a model with PRIVUNIT.
absl::StatusOr<std::unique_ptr<ContextLearner>> MakeLawLearner(const ContextTask& task,
                                                               const ModelSpec& spec);

}  // namespace bandana::lab
