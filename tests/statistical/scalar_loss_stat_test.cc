// The law of a released number, and mutants that the same test must reject. Seeds are fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tools/published/loss_mechanism.h"

namespace bandana::testing {
namespace {

constexpr std::uint64_t kDraws = 300'000;
constexpr int kCells = 64;

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// Cell edges at equal steps over 6 standard deviations of the right law.
double EdgeOf(int cell) { return -3 + 6.0 * cell / kCells; }

// Cell probabilities of N(mean, stddev^2), in standard deviations of the right law.
std::vector<double> CellsOf(double mean, double stddev) {
  std::vector<double> cells;
  double below = 0;
  for (int cell = 1; cell < kCells; ++cell) {
    const double next = Phi((EdgeOf(cell) - mean) / stddev);
    cells.push_back(next - below);
    below = next;
  }
  cells.push_back(1 - below);
  return cells;
}

// alpha scalar_gaussian_fit.
TEST(ScalarLossStatTest, ReleasesAreNormalAboutTheNumber) {
  const LossMechanism mechanism = *LossMechanism::Create(
      {.epsilon = {1}, .delta = {1e-5}, .range = {-2, 6}, .kind = LossMechanismKind::kGaussian});
  // sigma = width / mu = 8 * 3.7306: docs/design/mechanisms.md#accounting at (1, 1e-5).
  const double sigma = std::sqrt(mechanism.VarianceMax());
  EXPECT_NEAR(sigma, 8 * 3.7306, 8 * 1e-3);
  const std::vector<double> right = CellsOf(0, 1);
  const FitTest fit = *FitTest::Create(kDraws, right, AlphaOf("scalar_gaussian_fit"));
  SeededBits bits(11);
  std::vector<std::uint64_t> counts(kCells, 0);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double z = (mechanism.Value(*mechanism.Release(RawReward(1.5), 0, bits)) - 1.5) / sigma;
    const int cell = static_cast<int>(std::floor((z + 3) / 6 * kCells));
    ++counts[std::clamp(cell, 0, kCells - 1)];
  }
  EXPECT_TRUE(fit.Accepts(counts));
  // The test would reject noise 3 % too small, and a release off by 0.02 sigma.
  EXPECT_GE(fit.PowerAtLeast(CellsOf(0, 0.97)), 0.99);
  EXPECT_GE(fit.PowerAtLeast(CellsOf(0.02, 1)), 0.99);
}

}  // namespace
}  // namespace bandana::testing
