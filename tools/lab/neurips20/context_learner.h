// Learners whose server never sees a context: the arm is chosen on the device from what the server
// publishes, and one perturbed report comes back.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/bandits/link.h"
#include "common/bandits/posterior.h"
#include "tools/lab/neurips20/context_mechanism.h"

namespace bandana::lab {

// One learner in one run: the server's state and every device's mechanism. Not thread-safe.
class ContextLearner {
 public:
  virtual ~ContextLearner() = default;
  // What devices choose by. Only reports are in it.
  virtual const NodePosterior& Posterior() = 0;
  // One device's turn: features of the arm it chose, and the reward. Errors: UNAVAILABLE no noise.
  virtual absl::Status Learn(std::span<const double> x, double reward) = 0;
  virtual std::string mechanism() const = 0;
  // Noisy Gram matrices that had to be made semidefinite so far.
  virtual std::uint64_t repairs() const = 0;
};

struct ContextTask {
  Link link = Link::kLinear;
  int dimension = 0;
  double theta_l2_max = 1;
  double reward_stddev = 1;
  double prior_stddev = 1;  // of an entry of theta
  double alpha = 0.3;       // posterior standard deviations added to the mean
  Epsilon epsilon;
  Delta delta;
  std::uint64_t horizon = 0;
  std::uint64_t seed = 0;
  PrivUnitDraws draws = PrivUnitDraws::kFast;
};

// What the planner is asked for: contexts of length 1, rewards in [-1, 1] or, for the logistic
// link, in [-1/2, 1/2] after its middle is taken off, theta times the link's slope at 0.
ContextPlanRequest PlanRequestOf(const ContextTask& task);

// Reports of (x, r) made straight (common/bandits/link.h), added up by context_statistics.h and
// read through the noise-aware posterior: `proven` for ldp-linucb and ldp-glm. With no mechanism
// the same without privacy. The posterior is published whenever reports have grown by a hundredth.
absl::StatusOr<std::unique_ptr<ContextLearner>> MakeReported(
    const ContextTask& task, std::unique_ptr<ContextMechanism> mechanism);

}  // namespace bandana::lab
