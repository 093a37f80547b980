// Bounds that counts prove: Clopper-Pearson against closed forms, published intervals and an
// independent tail sum; the bounds on epsilon against known curves; the false-alarm rate, exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/accounting/gaussian.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"
#include "tools/audit/bounds.h"

namespace bandana::audit {
namespace {

using namespace bandana::testing;
using ::testing::Field;

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

TEST(ClopperPearsonTest, ExtremeCountsHaveClosedForms) {
  // P[Bin(n, p) >= n] = p^n, P[Bin(n, p) >= 1] = 1 - (1-p)^n.
  for (const double n : {1.0, 2.0, 10.0, 1e3, 1e6}) {
    const auto trials = static_cast<std::uint64_t>(n);
    for (const double alpha : {0.3, 0.05, 1e-6, 1e-12}) {
      EXPECT_EQ(ProbabilityLower(0, trials, alpha), 0);
      EXPECT_EQ(ProbabilityUpper(trials, trials, alpha), 1);
      EXPECT_NEAR(ProbabilityLower(trials, trials, alpha) / std::pow(alpha, 1 / n), 1, 1e-8);
      const double none = -std::expm1(std::log(alpha) / n);
      EXPECT_NEAR(ProbabilityUpper(0, trials, alpha) / none, 1, 1e-8);
      const double one = -std::expm1(std::log1p(-alpha) / n);
      EXPECT_NEAR(ProbabilityLower(1, trials, alpha) / one, 1, 1e-8);
    }
  }
}

// Two-sided 95 % intervals as R's binom.test prints them.
TEST(ClopperPearsonTest, EqualsPublishedIntervals) {
  struct Case {
    std::uint64_t k, n;
    double low, high;
  };
  for (const Case& c : {Case{5, 10, 0.1870860, 0.8129140}, Case{3, 20, 0.03207094, 0.37892683},
                        Case{10, 100, 0.04900469, 0.17622260}}) {
    EXPECT_NEAR(ProbabilityLower(c.k, c.n, 0.025), c.low, 1e-7);
    EXPECT_NEAR(ProbabilityUpper(c.k, c.n, 0.025), c.high, 1e-7);
  }
}

// The tail at the bound is alpha: summed mass by mass, where the bound came from a continued
// fraction.
TEST(ClopperPearsonTest, TailAtTheBoundIsAlpha) {
  const std::pair<std::uint64_t, std::uint64_t> counts[] = {
      {7, 50}, {49, 50}, {12, 1'000'000}, {731'059, 1'000'000}, {9'999'900, 10'000'000}};
  for (const auto& [k, n] : counts) {
    for (const double alpha : {0.05, 2.5e-7}) {
      const double low = ProbabilityLower(k, n, alpha);
      const double high = ProbabilityUpper(k, n, alpha);
      EXPECT_NEAR(BinomialUpperTail(k, n, low) / alpha, 1, 1e-5) << k << " of " << n;
      EXPECT_NEAR(BinomialLowerTail(k, n, high) / alpha, 1, 1e-5) << k << " of " << n;
    }
  }
}

TEST(ClopperPearsonTest, LessAlphaIsWider) {
  EXPECT_LT(ProbabilityLower(30, 100, 1e-6), ProbabilityLower(30, 100, 1e-3));
  EXPECT_GT(ProbabilityUpper(30, 100, 1e-6), ProbabilityUpper(30, 100, 1e-3));
}

TEST(NormalQuantileTest, EqualsTabulatedValues) {
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-12);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-11);
  EXPECT_NEAR(NormalQuantile(1e-6), -4.753424308822899, 1e-11);
  EXPECT_NEAR(NormalQuantile(1e-20), -9.262340089798408, 1e-11);
  EXPECT_EQ(NormalQuantile(0), -40);
  EXPECT_EQ(NormalQuantile(1), 40);
}

TEST(EpsilonLowerTest, TakesTheBestOfEventAndComplementInBothDirections) {
  const auto exact = [](double p, double q) { return HitBounds{p, p, q, q}; };
  EXPECT_DOUBLE_EQ(EpsilonLower(exact(0.6, 0.2), {0}).value, std::log(3.0));
  EXPECT_DOUBLE_EQ(EpsilonLower(exact(0.8, 0.4), {0}).value, std::log(3.0));  // by the complement
  EXPECT_DOUBLE_EQ(EpsilonLower(exact(0.2, 0.6), {0}).value, std::log(3.0));
  EXPECT_DOUBLE_EQ(EpsilonLower(exact(0.4, 0.8), {0}).value, std::log(3.0));
  // (0.8 - 0.05) / 0.4 against (0.6 - 0.05) / 0.2.
  EXPECT_DOUBLE_EQ(EpsilonLower(exact(0.8, 0.4), {0.05}).value, std::log(2.75));
  EXPECT_EQ(EpsilonLower(exact(0.5, 0.5), {0}).value, 0);
  // Wide bounds prove nothing.
  EXPECT_EQ(EpsilonLower({0.3, 0.9, 0.2, 0.7}, {0}).value, 0);
}

TEST(MuLowerTest, InvertsTheGaussianTradeOff) {
  for (const double mu : {0.05, 0.27, 1.0, 4.0}) {
    // A threshold anywhere: P = N(mu, 1), Q = N(0, 1).
    for (const double threshold : {-1.0, 0.0, mu / 2, 2.0}) {
      const double p = Phi(mu - threshold), q = Phi(-threshold);
      EXPECT_NEAR(MuLower({p, p, q, q}).value, mu, 1e-9);
      EXPECT_NEAR(MuLower({q, q, p, p}).value, mu, 1e-9);
    }
  }
}

TEST(GaussianEpsilonLowerTest, IsTheCurveAtMuRoundedDown) {
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    const double mu = CalibrateGaussian({epsilon}, {1e-5})->value;
    const double p = Phi(mu / 2), q = Phi(-mu / 2);
    const auto lower = GaussianEpsilonLower({p, p, q, q}, {1e-5});
    EXPECT_THAT(lower, IsOkAndHolds(Field(&Epsilon::value, DoubleNear(epsilon, 1e-6))));
    EXPECT_LT(lower->value, epsilon);
  }
  EXPECT_THAT(GaussianEpsilonLower({0, 1, 0, 1}, {1e-5}), IsOkAndHolds(Field(&Epsilon::value, 0)));
}

double Mass(std::uint64_t k, std::uint64_t n, double p) {
  return BinomialUpperTail(k, n, p) - BinomialUpperTail(k + 1, n, p);
}

// Chance that `bound` exceeds the true epsilon of randomized response, summed over all counts.
template <typename Bound>
double FalseAlarm(double epsilon, std::uint64_t n, const Bound& bound) {
  const double p = 1 / (1 + std::exp(-epsilon));
  double chance = 0;
  for (std::uint64_t k = 0; k <= n; ++k) {
    for (std::uint64_t l = 0; l <= n; ++l) {
      if (bound(HitCounts{n, k, l}) > epsilon) chance += Mass(k, n, p) * Mass(l, n, 1 - p);
    }
  }
  return chance;
}

TEST(FalseAlarmTest, IsAtMostAlphaForTheSharpestMechanism) {
  constexpr double kAlpha = 0.05;
  for (const double epsilon : {0.5, 2.0}) {
    const double chance = FalseAlarm(epsilon, 40, [](const HitCounts& counts) {
      return EpsilonLower(BoundHits(counts, kAlpha), {0}).value;
    });
    EXPECT_LE(chance, kAlpha);
    EXPECT_GT(chance, 0);  // the bound is not vacuous
    // Mutant: frequencies in place of their bounds.
    const double plain = FalseAlarm(epsilon, 40, [](const HitCounts& counts) {
      const double n = static_cast<double>(counts.trials);
      const double p = static_cast<double>(counts.on_p) / n;
      const double q = static_cast<double>(counts.on_q) / n;
      return EpsilonLower({p, p, q, q}, {0}).value;
    });
    EXPECT_GT(plain, 4 * kAlpha);
  }
}

}  // namespace
}  // namespace bandana::audit
