// Learners whose server never sees a context: the arm is chosen on the device from what the server
// publishes, and one perturbed report comes back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"
#include "common/accounting/types.h"
#include "common/ranking/link.h"
#include "common/ranking/posterior.h"

namespace bandana::lab {

// One learner in one run: the server's state and every device's mechanism. Not thread-safe.
class ContextLearner {
 public:
  virtual ~ContextLearner() = default;
  // The posterior that devices choose by. Only reports are in it.
  virtual const NodePosterior& Posterior() = 0;
  // One device's turn: features of the arm it chose, and the reward. Errors: UNAVAILABLE no noise.
  virtual absl::Status Learn(std::span<const double> x, double reward) = 0;
  virtual std::string mechanism() const = 0;
  // Noisy Gram matrices that had to be made semidefinite so far.
  virtual std::uint64_t repairs() const = 0;
};

// How privunit's reports are drawn: by PrivUnit itself, seed after seed until one is accepted, or
// from the law of an accepted direction, which is the same (cap_law.h) and costs the same at every
// epsilon. kFast: by PrivUnit where it needs kSeedsMax seeds or fewer on average.
enum class PrivUnitDraws { kSeeds, kLaw, kFast };
inline constexpr double kSeedsMax = 40;

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

// The model that an operator would configure for the task: contexts of length 1, rewards in [-1, 1]
// or, for the logistic link, in [0, 1]. `mechanism`: AUTO, PRIVUNIT or JOINT_GAUSSIAN.
v1::ModelConfig ConfigOf(const ContextTask& task, v1::Mechanism mechanism);

// That model as a server hosts it: `proven` for ldp-linucb and ldp-glm. Its posterior is published
// whenever reports have grown by a hundredth. Where `task.draws` says so, PRIVUNIT's reports are
// drawn from their law and not by it (law_learner.h).
absl::StatusOr<std::unique_ptr<ContextLearner>> MakeReported(const ContextTask& task,
                                                             v1::Mechanism mechanism);

// Learns those events, straightened, in a served model without privacy.
absl::StatusOr<std::unique_ptr<ContextLearner>> MakeUnperturbed(const ContextTask& task);

}  // namespace bandana::lab
