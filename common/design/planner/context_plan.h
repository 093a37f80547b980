// Which mechanism a model should run whose contexts stay on the devices: predicted errors of the
// proven ones, in closed form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/bandits/context_statistics.h"
#include "common/promise/kinds.h"

namespace bandana {

// Public configuration only.
struct ContextPlanRequest {
  int dimension = 0;               // d, [1, kDimensionMax]
  double context_l2_max = 1;       // L, (0, kScaleMax]
  double reward_abs_max = 1;       // R, (0, kScaleMax]
  double theta_l2_max = 1;         // (0, kScaleMax]
  double reward_stddev = 1;        // sigma_r, (0, kScaleMax]
  double prior_stddev = 1;         // tau, (0, kScaleMax]
  std::uint64_t reports = 10'000;  // expected over the model's life, [1, 2^40]
  Epsilon epsilon;                 // of one report, (0, kEpsilonResearchMax]
  Delta delta;                     // [0, 1); 0 leaves the pure mechanism
};

enum class ContextMechanismKind { kPrivUnit, kGaussian };
// "privunit", "gaussian".
std::string_view ContextMechanismName(ContextMechanismKind kind);
MechanismId MechanismOf(ContextMechanismKind kind);

struct ContextCandidate {
  ContextMechanismKind kind = ContextMechanismKind::kPrivUnit;
  bool pure = false;        // epsilon alone, no delta
  ReportVariance variance;  // of one report
  double predicted = 1;     // regret as a share of a random policy's, [0, 1]
  std::string excluded;     // why it cannot be used; empty: it can
};

// Candidates that can be used come first, best first; there is always one.
struct ContextPlan {
  ContextPlanRequest request;
  std::vector<ContextCandidate> candidates;
  const ContextCandidate& best() const { return candidates.front(); }
};

// Predicts each mechanism for arms in random directions. t reports have S = (t L^2 / d) I and carry
// the noise t v, v = v_moment + v_gram theta_l2_max^2, so the information is H = a t / tau^2 I,
//   a = tau^2 (L^2 / d)^2 / (sigma_r^2 L^2 / d + v),
// rho_t = 1 / (1 + a t) of the prior variance is left, and the arm that looks best is worth
// sqrt(1 - rho_t) of the best one (planner.h). The mean of 1 - sqrt(1 - rho_t) over t in [0, T] is
//   1 - (sqrt(u (1 + u)) - asinh(sqrt u)) / u,   u = a T.
// Errors: INVALID_ARGUMENT names the field; or no mechanism holds at this epsilon and delta.
// Threads: pure function. Cost: DesignCap's.
absl::StatusOr<ContextPlan> MakeContextPlan(const ContextPlanRequest& request);

// The table that the choice was made by, a line a candidate, for logs and terminals.
std::string ExplainContextPlan(const ContextPlan& plan);

}  // namespace bandana
