// The solvers of bandits without contexts against slow ones.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "common/bandits/mab/index_policy.h"
#include "common/bandits/mab/tsallis_inf.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

// Bisection for the normalizer x < min L, in long double.
std::vector<double> SlowProbabilities(const std::vector<double>& losses, double rate) {
  long double least = losses[0];
  for (const double loss : losses) least = std::min<long double>(least, loss);
  long double low = least - 2 * std::sqrt(static_cast<long double>(losses.size())) / rate;
  long double high = least - 2 / static_cast<long double>(rate);
  const auto weight = [&](double loss, long double x) {
    const long double z = rate * (loss - x);
    return 4 / (z * z);
  };
  for (int i = 0; i < 200; ++i) {
    const long double middle = (low + high) / 2;
    long double sum = 0;
    for (const double loss : losses) sum += weight(loss, middle);
    (sum > 1 ? high : low) = middle;
  }
  std::vector<double> out;
  for (const double loss : losses) out.push_back(static_cast<double>(weight(loss, low)));
  return out;
}

TEST(TsallisPropertyTest, AgreesWithBisection) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    TestRng rng(seed);
    const int arms = 1 + rng.Index(seed % 50 == 0 ? 1000 : 12);
    const double rate = std::exp(12 * rng.Uniform() - 10);
    const double spread = std::exp(16 * rng.Uniform() - 4);
    const double offset = 1e4 * rng.Normal();
    std::vector<double> losses;
    for (int i = 0; i < arms; ++i) losses.push_back(offset + spread * rng.Normal());
    std::vector<double> fast;
    TsallisProbabilities(losses, rate, fast);
    const std::vector<double> slow = SlowProbabilities(losses, rate);
    EXPECT_NEAR(std::accumulate(fast.begin(), fast.end(), 0.0), 1, 1e-12);
    for (int i = 0; i < arms; ++i) {
      // Differences of losses are exact to one part in 1e16 of their size, in both.
      const double tolerance = 1e-9 + 1e-15 * (std::abs(offset) + spread) * rate;
      EXPECT_NEAR(fast[i], slow[i], tolerance * (slow[i] + 1e-12) * 10) << i;
    }
  }
}

double SlowKlUpperBound(double p, double level) {
  double low = p;
  double high = 1;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (BernoulliDivergence(p, middle) <= level ? low : high) = middle;
  }
  return low;
}

TEST(KlPropertyTest, AgreesWithBisection) {
  TestRng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    double p = rng.Uniform();
    if (i % 10 == 0) p = 0;
    if (i % 10 == 1) p = 1;
    if (i % 10 == 2) p = 1e-9 * rng.Uniform();
    if (i % 10 == 3) p = 1 - 1e-9 * rng.Uniform();
    const double level = std::exp(25 * rng.Uniform() - 22);
    EXPECT_NEAR(KlUpperBound(p, level), SlowKlUpperBound(p, level), 2e-9) << p << " " << level;
  }
  EXPECT_EQ(KlUpperBound(0.25, 0), 0.25);
}

// For randomized response: the bound of the bit's mean, mapped back, is the largest p whose image
// is close enough to the bit's mean. One at a time, by bisection on p.
TEST(KlPropertyTest, TheIndexOfARandomizedBitIsThatOfItsMean) {
  TestRng rng(2);
  for (int i = 0; i < 2000; ++i) {
    const double epsilon = 0.2 + 4 * rng.Uniform();
    const double c = (std::exp(epsilon) + 1) / (std::exp(epsilon) - 1);
    const auto image = [&](double p) { return 0.5 + (2 * p - 1) / (2 * c); };
    // The released values of rewards 0 and 1.
    const double low = 0.5 - c / 2;
    const double high = 0.5 + c / 2;
    const std::uint64_t n = 50 + rng.Index(5000);
    const std::uint64_t ones = static_cast<std::uint64_t>(rng.Uniform() * n);
    const std::uint64_t others = rng.Index(100'000);
    const double sum = low * static_cast<double>(n - ones) + high * static_cast<double>(ones);
    const auto policy = *IndexPolicy::Create({.arms = 2, .value_low = low, .value_high = high});
    ASSERT_TRUE(policy->Restore({{sum, n}, {0, others}}).ok());
    const double level = std::log(static_cast<double>(n + others)) / static_cast<double>(n);
    const double mean = static_cast<double>(ones) / static_cast<double>(n);
    double below = low;
    double above = high;
    for (int step = 0; step < 100; ++step) {
      const double p = (below + above) / 2;
      const double q = image(p);
      (q <= mean || BernoulliDivergence(mean, q) <= level ? below : above) = p;
    }
    EXPECT_NEAR(policy->Index(0), below, 1e-7 * c);
  }
}

}  // namespace
}  // namespace bandana::testing
