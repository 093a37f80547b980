#include "tests/support/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana::testing {
namespace {

long double LogBinomialMass(std::uint64_t k, std::uint64_t n, long double p) {
  const long double x = k, m = n;
  return std::lgamma(m + 1) - std::lgamma(x + 1) - std::lgamma(m - x + 1) + x * std::log(p) +
         (m - x) * std::log1p(-p);
}

// Sum of the masses from k upwards, for k above the mean, where they fall at least geometrically.
long double FarUpperTail(std::uint64_t k, std::uint64_t n, long double p) {
  const long double odds = p / (1 - p);
  long double term = std::exp(LogBinomialMass(k, n, p));
  long double sum = term;
  for (std::uint64_t i = k; i < n && term > sum * 1e-19L; ++i) {
    term *= odds * static_cast<long double>(n - i) / static_cast<long double>(i + 1);
    sum += term;
  }
  return sum;
}

// The smallest k in [0, n + 1] with UpperTail(k) <= bound.
std::uint64_t FirstRareCount(std::uint64_t n, double p, double bound) {
  std::uint64_t rare = n + 1, common = 0;  // UpperTail(0) = 1, UpperTail(n + 1) = 0
  while (rare - common > 1) {
    const std::uint64_t middle = common + (rare - common) / 2;
    (BinomialUpperTail(middle, n, p) <= bound ? rare : common) = middle;
  }
  return rare;
}

}  // namespace

double BinomialUpperTail(std::uint64_t k, std::uint64_t n, double p) {
  BANDANA_CHECK(p >= 0 && p <= 1);
  if (k == 0) return 1;
  if (k > n || p == 0) return 0;
  if (p == 1) return 1;
  const auto exact = static_cast<long double>(p);
  if (static_cast<long double>(k) > static_cast<long double>(n) * exact) {
    return static_cast<double>(FarUpperTail(k, n, exact));
  }
  // P[X >= k] = 1 - P[n - X >= n - k + 1], a far tail of the mirrored law.
  return static_cast<double>(1 - FarUpperTail(n - k + 1, n, 1 - exact));
}

double BinomialLowerTail(std::uint64_t k, std::uint64_t n, double p) {
  BANDANA_CHECK(p >= 0 && p <= 1);
  if (k >= n) return 1;
  if (p == 0) return 1;
  if (p == 1) return 0;
  const auto exact = static_cast<long double>(p);
  if (static_cast<long double>(k) < static_cast<long double>(n) * exact) {
    return static_cast<double>(FarUpperTail(n - k, n, 1 - exact));
  }
  return static_cast<double>(1 - FarUpperTail(k + 1, n, exact));
}

absl::StatusOr<BinomialTest> BinomialTest::Create(std::uint64_t n, double p, double alpha) {
  if (n == 0) return InvalidArgument("n must be positive");
  if (!(p >= 0 && p <= 1)) return InvalidArgument("p must be in [0, 1], got ", p);
  if (!(alpha > 0 && alpha < 1)) return InvalidArgument("alpha must be in (0, 1), got ", alpha);
  const std::uint64_t high = FirstRareCount(n, p, alpha / 2) - 1;
  // The mirror: rare small counts are rare large counts of misses. 1 - p loses digits only where
  // they do not matter: p tiny makes no small count rare.
  const std::uint64_t low = n + 1 - FirstRareCount(n, 1 - p, alpha / 2);
  if (low == 0 && high == n) {
    return InvalidArgument("n = ", n,
                           " is too small: no count would be rejected at alpha = ", alpha);
  }
  return BinomialTest(n, low, high);
}

double BinomialTest::RejectionProbability(double p) const {
  const double below = low_ == 0 ? 0 : BinomialLowerTail(low_ - 1, n_, p);
  return below + BinomialUpperTail(high_ + 1, n_, p);
}

absl::StatusOr<FitTest> FitTest::Create(std::uint64_t n, std::span<const double> probabilities,
                                        double alpha) {
  constexpr std::size_t kQuantiles = 64;
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  if (!(std::abs(sum - 1) < 1e-9)) return InvalidArgument("probabilities must sum to 1, got ", sum);
  const double share = alpha / static_cast<double>(probabilities.size() + kQuantiles);
  FitTest fit;
  fit.n_ = n;
  fit.cells_ = probabilities.size();
  // The half-lines {cell < end} nearest above each quantile.
  double below = 0;
  std::size_t quantile = 1;
  for (std::size_t end = 1; end < probabilities.size(); ++end) {
    below += probabilities[end - 1];
    if (below * (kQuantiles + 1) < static_cast<double>(quantile)) continue;
    while (quantile <= kQuantiles && static_cast<double>(quantile) <= below * (kQuantiles + 1)) {
      ++quantile;
    }
    BANDANA_ASSIGN_OR_RETURN(BinomialTest test,
                             BinomialTest::Create(n, std::min(below, 1.0), share));
    fit.events_.push_back({0, end, test});
  }
  for (std::size_t cell = 0; cell < probabilities.size(); ++cell) {
    absl::StatusOr<BinomialTest> test =
        BinomialTest::Create(n, std::clamp(probabilities[cell], 0.0, 1.0), share);
    if (test.ok()) fit.events_.push_back({cell, cell + 1, *test});
  }
  if (fit.events_.empty()) return InvalidArgument("n = ", n, " is too small for any comparison");
  return fit;
}

bool FitTest::Accepts(std::span<const std::uint64_t> counts) const {
  BANDANA_CHECK(counts.size() == cells_);
  BANDANA_CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == n_);
  return std::all_of(events_.begin(), events_.end(), [&](const Event& event) {
    return event.test.Accepts(std::accumulate(counts.begin() + event.begin,
                                              counts.begin() + event.end, std::uint64_t{0}));
  });
}

double FitTest::PowerAtLeast(std::span<const double> probabilities) const {
  BANDANA_CHECK(probabilities.size() == cells_);
  double best = 0;
  for (const Event& event : events_) {
    const double p = std::accumulate(probabilities.begin() + event.begin,
                                     probabilities.begin() + event.end, 0.0);
    best = std::max(best, event.test.RejectionProbability(std::clamp(p, 0.0, 1.0)));
  }
  return best;
}

}  // namespace bandana::testing
