// Which private mechanism a model should run: predicted errors of all proven ones, in closed form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/bandits/coupling.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_kind.h"
#include "common/mechanisms/reward_range.h"
#include "common/promise/kinds.h"

namespace bandana {

// The facts that the choice depends on. Public configuration only.
struct PlanRequest {
  Mode mode = Mode::kLocalReward;  // or CENTRAL_REWARD
  int dimension = 0;               // [1, kDimensionMax]
  double feature_l2_max = 1;       // L, > 0
  RewardRange rewards;
  bool rewards_binary = false;
  double reward_stddev = 1;              // sigma_r, > 0
  double prior_stddev = 1;               // tau, > 0
  std::optional<Coupling> coupling;      // P; nothing: one user or independent ones
  std::uint64_t events_per_node = 1000;  // expected over the model's life, [1, 2^30]
  Epsilon epsilon;                       // (0, kEpsilonResearchMax]
  Delta delta;                           // [0, 1); 0 leaves the pure mechanisms
};

struct PlanCandidate {
  CounterKind counter = CounterKind::kBlt;  // of counters
  MechanismId mechanism = MechanismId::kRewardRandomizer;
  int users = 1;      // whose events are in one stream together
  std::string name;   // "randomizer (hybrid)", "counter (blt)"
  bool pure = false;  // epsilon alone, no delta
  // Regret as a share of a uniformly random policy's over the model's life, [0, 1]; the order is
  // what counts.
  double predicted = 1;
  double noise = 0;      // sd of the privacy noise in one entry of beta_u at the end, reward units
  std::string excluded;  // why it cannot be used; empty: it can
};

// Candidates that can be used come first, best first; there is always one.
struct Plan {
  PlanRequest request;
  std::vector<PlanCandidate> candidates;
  const PlanCandidate& best() const { return candidates.front(); }
};

// Predicts each mechanism for arms in random directions. After t events a node's S is about (t L^2
// / d) I, so its information is H = S (sigma_r^2 S + v_t I)^-1 S for a counter and S / (sigma_r^2 +
// v_r) for the randomizer. The share of the prior that is left is rho_t = tr K / tr K_0 with
//   K = (P^-1 / tau^2 + H I)^-1,
// through the eigenvalues of P. The arm that looks best of several with Gaussian rewards is worth
// sqrt(1 - rho_t) of the best one, so the prediction is the mean over t of
//   1 - sqrt(1 - rho_t).
// The centred randomizer's noise follows the posterior, event by event: 1/p gains (L^2 / d) / (s^2
// + v(p)) with p = rho_t tau^2 and v(p) the randomizer's variance in the window about a mean of
// standard deviation L sqrt(p) (centred_window.h).
// Central noise shaped across users (noise_shape.h) is weighed for coupled users, in the
// eigenvectors of Q.
// Errors: INVALID_ARGUMENT names the field.  Threads: pure function.
// Cost: the eigenvalues of P (components above 512 nodes count as independent ones), then
// milliseconds.
absl::StatusOr<Plan> MakePlan(const PlanRequest& request);

// A user's counter of the expected length, hard cap included, that costs (epsilon, delta) by zCDP.
// Errors: as MakePlan; FAILED_PRECONDITION delta is 0.
absl::StatusOr<CounterOptions> CounterOptionsFor(const PlanRequest& request, CounterKind kind);

// The table that the choice was made by, a line a candidate, for logs and terminals.
std::string ExplainPlan(const Plan& plan);

}  // namespace bandana
