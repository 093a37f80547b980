// The learners that choose arms in the experiments of [FLIP].
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/bandits/sparse/sparse_estimate.h"

namespace bandana::lab {

// One learner in one run; the arm is the greedy one. Not thread-safe.
class SparseLearner {
 public:
  virtual ~SparseLearner() = default;
  virtual const SparseEstimate& estimate() const = 0;
  // One round: the features of the arm that was shown, and its reward.
  virtual absl::Status Learn(std::span<const double> x, double reward) = 0;
  // The mechanism in use, for the results.
  virtual std::string mechanism() const = 0;
};

struct SparseLearnerOptions {
  int dimension = 0;
  Epsilon epsilon;
  Delta delta;
  std::uint64_t seed = 0;      // of the noise
  double parameter_l1 = 0;     // |beta*|_1, which the published form is told
  int selected = 10;           // s
  double reward_abs_max = 2;   // R of the proven forms
  double context_abs_max = 0;  // x_max of the proven forms; 0: 1/2, or sqrt(2 ln d) when forgetting
  double lambda_factor = 13.9;  // of `published-repaired`
};

// `label`: published, published-repaired, proven, proven-forgetting or non-private (the lasso
// bandit). Errors: INVALID_ARGUMENT a label or an option.
absl::StatusOr<std::unique_ptr<SparseLearner>> MakeSparseLearner(
    std::string_view label, const SparseLearnerOptions& options);

}  // namespace bandana::lab
