// The total cost of a sequence of releases, in fixed point rounded up, so that the sum does not
// depend on order, machine or compiler and never reads less than what was spent.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "common/accounting/types.h"

namespace bandana {

// Totals of one sequential composition. A plain value; the ledger stores exactly these numbers.
//
// Invariants: every total is the sum of its entries, each entry rounded up to the unit. A total
// that would pass kSaturated stays there and reads as unbounded. A pure release enters `pure` and
// `rho`; a Gaussian one `mu_squared`, `variation` and `rho`; a zCDP one only `rho`.
struct PrivacyTotals {
  static constexpr double kUnit = 0x1p-40;           // of pure, mu_squared, rho
  static constexpr double kVariationUnit = 0x1p-62;  // of variation
  static constexpr std::uint64_t kSaturated = std::uint64_t{1} << 63;

  std::uint64_t pure = 0;        // sum of eps over pure releases
  std::uint64_t mu_squared = 0;  // sum of mu^2 over Gaussian releases
  std::uint64_t rho = 0;         // sum of rho over all releases
  std::uint64_t variation = 0;   // sum of the Gaussian releases' distances from a Gaussian
  std::uint64_t releases_pure = 0;
  std::uint64_t releases_gaussian = 0;
  std::uint64_t releases_zcdp = 0;

  friend bool operator==(const PrivacyTotals&, const PrivacyTotals&) = default;
};

// One release as the ledger accounts for it. Exactly one of pure, mu, rho is set. With mu two
// things hold. The release is within `variation` of a mu-GDP one: the Gaussian curve charges that
// (1 + e^epsilon) times, at the epsilon that is read. And it is itself mu^2 / 2-zCDP, as a discrete
// Gaussian is: the zCDP reading charges nothing for the distance.
struct PrivacyCost {
  std::optional<Epsilon> pure;
  std::optional<Mu> mu;
  std::optional<Rho> rho;
  TotalVariation variation;  // 0 unless mu is set

  static PrivacyCost Pure(Epsilon epsilon) { return {epsilon, {}, {}, {}}; }
  static PrivacyCost Gaussian(Mu mu, TotalVariation variation = {}) {
    return {{}, mu, {}, variation};
  }
  static PrivacyCost Zcdp(Rho rho) { return {{}, {}, rho, {}}; }
};

// The totals after `count` more releases of this cost, sequentially composed, adaptively chosen or
// not. Errors: INVALID_ARGUMENT a cost that is negative, NaN, infinite or not exactly one
// kind; a variation outside [0, 1), or without mu.
absl::StatusOr<PrivacyTotals> Compose(const PrivacyTotals& totals, const PrivacyCost& cost,
                                      std::uint64_t count = 1);

// The element-wise larger of the two: parallel composition, for releases that read disjoint data.
PrivacyTotals Parallel(const PrivacyTotals& a, const PrivacyTotals& b);

// The three readings. Each is a valid (epsilon, delta) statement about the same releases; the
// smallest may be used.
struct PrivacyReadings {
  std::optional<Epsilon> pure_sum;  // delta = 0; present when every release is pure
  // At the asked delta; present when every release is Gaussian, delta is not 0, and some epsilon
  // keeps it although the variation is charged.
  std::optional<Epsilon> gaussian_curve;
  std::optional<Epsilon> zcdp;  // at the asked delta; absent when delta is 0
  // The smallest present one. Nothing spent reads 0.
  std::optional<Epsilon> best() const;
};
// delta in [0, 1). Errors: INVALID_ARGUMENT.
absl::StatusOr<PrivacyReadings> Read(const PrivacyTotals& totals, Delta delta);

// Group privacy: what a guarantee for one event says about k events at once.
Epsilon GroupPure(Epsilon epsilon, std::uint64_t k);  // k eps
Rho GroupZcdp(Rho rho, std::uint64_t k);              // k^2 rho
}  // namespace bandana
