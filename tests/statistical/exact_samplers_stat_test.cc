// Draws of the discrete Gaussian and Laplace against their laws, and mutants that the same tests
// must reject. Seeds are fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/random/discrete_gaussian.h"
#include "common/random/samplers.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/randomizer_mutants.h"
#include "tests/support/sampler_mutants.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr std::uint64_t kDraws = 1'000'000;

std::vector<std::uint64_t> Counts(const DiscreteGaussian& gaussian, const IntegerLaw& law,
                                  std::uint64_t seed) {
  std::vector<std::uint64_t> counts(law.masses.size(), 0);
  SeededBits bits(seed);
  for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[law.Cell(*gaussian.Sample(bits))];
  return counts;
}

// sigma^2 where t = 2^k is as far above sigma, and as far below it, as it gets: 4^k / 2 and just
// below 2 4^k. Cells to 4 sigma, the tails in the end cells.
TEST(DiscreteGaussianStatTest, DrawsFollowTheLaw) {
  const std::vector<std::uint64_t> sigmas_squared = {32, 127};
  for (const std::uint64_t sigma_squared : sigmas_squared) {
    SCOPED_TRACE(sigma_squared);
    const double s = static_cast<double>(sigma_squared);
    const IntegerLaw law = testing::GaussianLaw(s, 1 + static_cast<std::int64_t>(4 * std::sqrt(s)));
    const FitTest fit = *FitTest::Create(kDraws, law.masses, AlphaOf("discrete_gaussian_fit") / 2);
    EXPECT_TRUE(
        fit.Accepts(Counts(*DiscreteGaussian::Create(sigma_squared), law, 400 + sigma_squared)));
  }
}

// Cells of sigma / 8 at sigma = 2^20; their masses by the normal distribution, off by less than
// 1e-12 from the discrete one.
std::vector<double> NormalCells(double sigma, double spacing, int reach) {
  const auto below = [sigma](double x) { return std::erfc(-x / sigma / std::sqrt(2.0)) / 2; };
  std::vector<double> masses;
  double last = 0;
  for (int cell = -reach; cell <= reach; ++cell) {
    const double next = cell == reach ? 1 : below((cell + 0.5) * spacing - 0.5);
    masses.push_back(next - last);
    last = next;
  }
  return masses;
}

TEST(DiscreteGaussianStatTest, DrawsFollowTheNormalLawAtLargeSigma) {
  constexpr int kReach = 40;
  const double sigma = 0x1p20, spacing = sigma / 8;
  const DiscreteGaussian gaussian = *DiscreteGaussian::Create(std::uint64_t{1} << 40);
  const FitTest fit = *FitTest::Create(kDraws, NormalCells(sigma, spacing, kReach),
                                       AlphaOf("discrete_gaussian_large"));
  EXPECT_GE(fit.PowerAtLeast(NormalCells(0.97 * sigma, spacing, kReach)), 0.99);
  std::vector<std::uint64_t> counts(2 * kReach + 1, 0);
  std::uint64_t low_bits = 0;
  SeededBits bits(410);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::int64_t z = *gaussian.Sample(bits);
    const std::int64_t cell = (z + (kReach << 17) + (1 << 16)) >> 17;
    ++counts[static_cast<std::size_t>(std::clamp<std::int64_t>(cell, 0, 2 * kReach))];
    low_bits += static_cast<std::uint64_t>(z & 1);
  }
  EXPECT_TRUE(fit.Accepts(counts));
  // Grid steps are all used: the parity of a wide Gaussian is a fair coin.
  EXPECT_TRUE(testing::BinomialTest::Create(kDraws, 0.5, AlphaOf("discrete_gaussian_parity"))
                  ->Accepts(low_bits));
}

TEST(DiscreteLaplaceStatTest, DrawsFollowTheLaw) {
  constexpr std::int64_t kReach = 60;
  const ExactScale scale{.numerator = 22, .denominator = 3};
  const double s = 22.0 / 3;
  IntegerLaw law{kReach, std::vector<double>(2 * kReach + 1)};
  for (std::int64_t z = -kReach; z <= kReach; ++z) {
    law.masses[law.Cell(z)] =
        std::abs(z) < kReach ? std::tanh(0.5 / s) * std::exp(-std::abs(static_cast<double>(z)) / s)
                             : std::exp(-kReach / s) / (1 + std::exp(-1 / s));
  }
  ASSERT_NEAR(std::accumulate(law.masses.begin(), law.masses.end(), 0.0), 1, 1e-12);
  const FitTest fit = *FitTest::Create(kDraws, law.masses, AlphaOf("discrete_laplace_fit"));
  std::vector<std::uint64_t> counts(law.masses.size(), 0);
  SeededBits bits(420);
  for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[law.Cell(*DiscreteLaplace(scale, bits))];
  EXPECT_TRUE(fit.Accepts(counts));
}

// Same sample size and alpha as DrawsFollowTheLaw: what is rejected here would be found there.
void ExpectRejected(const char* name, const IntegerLaw& right, const IntegerLaw& mutant,
                    std::uint64_t seed) {
  SCOPED_TRACE(name);
  const FitTest fit =
      *FitTest::Create(kDraws, right.masses, AlphaOf("discrete_gaussian_mutants") / 4);
  EXPECT_GE(fit.PowerAtLeast(mutant.masses), 0.99);
  SeededBits bits(seed);
  EXPECT_FALSE(fit.Accepts(testing::SampleCounts(mutant.masses, kDraws, bits)));
  EXPECT_TRUE(fit.Accepts(testing::SampleCounts(right.masses, kDraws, bits)));
}

TEST(DiscreteGaussianStatTest, MutantsAreRejected) {
  constexpr std::int64_t kReach = 46;
  const IntegerLaw right = testing::GaussianLaw(127, kReach);
  ExpectRejected("SigmaThreePercentOff", right, testing::SigmaThreePercentOff(127, kReach), 431);
  ExpectRejected("MinusZeroKept", right, testing::MinusZeroKept(127, kReach), 432);
  ExpectRejected("TailTruncated", right, testing::TailTruncated(127, kReach), 433);
  ExpectRejected("BiasOfAnotherScale", right, testing::BiasOfAnotherScale(127, 8, kReach), 434);
}

}  // namespace
}  // namespace bandana::testing
