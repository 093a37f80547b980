// The exponential mechanism, exactly, and repeated: s coordinates of large score, one after the
// other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"
#include "common/random/bit_source.h"

namespace bandana {

// Picks coordinates without replacement; each pick is j with probability proportional to
// exp(U_j e0 / (2 sensitivity)) among those that are left, exactly: propose uniformly, accept with
// probability exp(-(max U - U_j) e0 / (2 sensitivity)). Equal in law to Gumbel-max (peeling with
// Gumbel noise of scale 2 sensitivity / e0).
//
// Privacy:  one pick is e0^2/8-zCDP for scores that each change by at most `sensitivity` between
//           neighbours, all of them together rho-zCDP. Proof: docs/privacy/fliphat.md.
// Threads:  immutable, const methods are safe, given a source each.
// Cost:     a pick proposes at most as many coordinates, on average, as are left.
// Source:   [FLIP] Algorithm 1 (Peeling) with this law in place of Laplace noise.
class ExponentialSelection {
 public:
  static constexpr std::int64_t kSensitivityMax = std::int64_t{1} << 40;
  static constexpr std::int64_t kScoreMax = std::int64_t{1} << 62;
  struct Options {
    int picks = 1;  // [1, 2^20]
    Rho rho;        // of all picks together; e0 = sqrt(8 rho / picks) in [2^-20, 2^10]
    std::int64_t sensitivity = 1;  // of every score, [1, kSensitivityMax]
  };
  // Errors: INVALID_ARGUMENT an option out of range.
  static absl::StatusOr<ExponentialSelection> Create(const Options& options);

  // e0, a multiple of 2^-20, rounded down.
  Epsilon epsilon_per_pick() const;
  // Rounded up; at most the rho asked for, up to rounding.
  Rho rho() const;

  // `picks` positions of `scores` that are not in `excluded`, in the order of picking. The caller
  // has debited rho before. Requires scores in [0, kScoreMax]. Errors: INVALID_ARGUMENT fewer
  // than `picks` positions are left, or one excluded is not a position: nothing drawn; UNAVAILABLE
  // the source failed or is stuck (a healthy one: below e^-4000 a pick).
  absl::StatusOr<std::vector<int>> Pick(std::span<const std::int64_t> scores,
                                        std::span<const int> excluded, BitSource& bits) const;

 private:
  ExponentialSelection(const Options& options, std::uint64_t epsilon_steps)
      : options_(options), epsilon_steps_(epsilon_steps) {}
  absl::StatusOr<std::size_t> PickOne(std::span<const std::int64_t> scores,
                                      std::span<const int> left, BitSource& bits) const;

  Options options_;
  std::uint64_t epsilon_steps_;  // e0 2^20
};

}  // namespace bandana
