// Sufficient statistics whose Gram matrix itself is noisy (joint and context-private modes), made
// fit for the posterior.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/model.h"

namespace bandana {

// A symmetric matrix moved to the nearest positive semidefinite one in the Frobenius norm.
struct SemidefiniteGram {
  std::vector<double> gram;     // lower triangle row by row, d (d + 1) / 2
  int eigenvalues_clipped = 0;  // how many were negative beyond rounding, d 2^-52 of the largest
};

// S_+ of docs/design/mechanisms.md#noise-aware-posterior: eigenvalues below 0 become 0. A matrix
// whose eigenvalues are all positive beyond rounding comes back bit by bit.
// Errors: INVALID_ARGUMENT dimension outside [1, kDimensionMax], another number of entries than
// d (d + 1) / 2, or one that is not finite and within 1e100; never quotes an entry.
// Cost: one symmetric eigendecomposition, about 9 d^3. Threads: pure function.
absl::StatusOr<SemidefiniteGram> ClipToSemidefinite(std::span<const double> gram, int dimension);

// The released sum over `events` events, in units of the data, and its noise. Variances are those
// accumulated: n sigma^2 for n one-shot reports, V_t Delta^2 / mu^2 for a counter.
struct NoisyStatistics {
  std::vector<double> gram;    // S^p, lower triangle row by row, d (d + 1) / 2
  std::vector<double> moment;  // beta^p, d
  std::uint64_t events = 0;
  double gram_variance = 0;    // v_S, of a diagonal entry of S^p; [0, 1e30]
  double moment_variance = 0;  // v_beta, of an entry of beta^p; [0, 1e30]
};

struct RepairedStatistics {
  NodeStatistics statistics;    // for BanditModel::SetReleased
  int eigenvalues_clipped = 0;  // > 0: the Gram matrix was repaired; a count for metrics
};

// (S_+, beta^p) with v = v_beta + v_S theta_l2_max^2: S^p theta carries v_S |theta|^2 of noise into
// the residual beta^p - S^p theta (off the diagonal of S^p it has half the variance: v is an upper
// bound of it). Post-processing of releases.
// Errors: INVALID_ARGUMENT as above; theta_l2_max outside [0, 1e6]; a variance outside its range,
// v included; a moment of another length than d or with an entry that is not finite and within
// 1e100. Source: docs/design/mechanisms.md#noise-aware-posterior.
absl::StatusOr<RepairedStatistics> RepairStatistics(const NoisyStatistics& noisy,
                                                    double theta_l2_max);

}  // namespace bandana
