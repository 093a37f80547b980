// Bounds on a privacy loss, proved by counted events (docs/privacy/audit.md). Pure functions; exact
// for every sample size, no normal approximation of a binomial anywhere.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana::audit {

// One-sided bounds [CP34] of a probability from k hits in n independent trials, each wrong
// with probability at most alpha, rounded away from the estimate.
//   lower: the p with P[Bin(n, p) >= k] = alpha, 0 for k = 0
//   upper: the p with P[Bin(n, p) <= k] = alpha, 1 for k = n
// Requires 0 <= k <= n, 1 <= n <= 2^40, alpha in (0, 1). Cost: O(sqrt(n)) a step of bisection,
// 5 ms at n = 1e7.
double ProbabilityLower(std::uint64_t k, std::uint64_t n, double alpha);
double ProbabilityUpper(std::uint64_t k, std::uint64_t n, double alpha);

// x with Phi(x) = p, absolute error below 1e-12 for p in [1e-300, 1 - 1e-16]; -40 and 40 beyond.
double NormalQuantile(double p);

// Hits of one event, fixed before the data, among `trials` runs on each of two neighbours.
struct HitCounts {
  std::uint64_t trials = 0;
  std::uint64_t on_p = 0;
  std::uint64_t on_q = 0;
};

// Both event probabilities within their bounds at once, with probability at least 1 - alpha: four
// one-sided Clopper-Pearson bounds at alpha / 4.
struct HitBounds {
  double p_low = 0, p_high = 1;
  double q_low = 0, q_high = 1;
};
HitBounds BoundHits(const HitCounts& counts, double alpha);

// The largest epsilon >= 0 that (epsilon, delta)-differential privacy must have for the event or
// its complement, in either direction:
//   ln((p_low - delta) / q_high), ln((1 - q_high - delta) / (1 - p_low)), and P, Q exchanged.
// Always finite. Never above the true epsilon as long as the bounds hold.
Epsilon EpsilonLower(const HitBounds& bounds, Delta delta);

// As above for Gaussian differential privacy [DRS22]: mu_lo = PhiInv(1 - FPR_hi) - PhiInv(FNR_hi),
// the event and its complement as a test of P against Q. >= 0.
Mu MuLower(const HitBounds& bounds);

// MuLower read at delta by the exact curve, rounded down. delta in (0, 1). Valid for mechanisms
// whose claim is Gaussian: then it is far stronger than EpsilonLower at small delta.
absl::StatusOr<Epsilon> GaussianEpsilonLower(const HitBounds& bounds, Delta delta);

}  // namespace bandana::audit
