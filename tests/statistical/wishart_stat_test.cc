// Wishart and symmetric Gaussian matrices against their laws. Seeds are fixed: the run is
// deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "research/published/wishart.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr std::uint64_t kDraws = 200'000;
constexpr int kSize = 3, kDegrees = 8, kCells = 60;
constexpr double kVariance = 2.25;

// e^T M e for the coordinate axes and for (1, 1, 1) / sqrt(3).
std::vector<double> QuadraticForms(const std::vector<double>& m) {
  return {m[0], m[2], m[5], (m[0] + m[2] + m[5] + 2 * (m[1] + m[3] + m[4])) / 3};
}

// Law over cells of width 1/2 of e^T W e / (2 variance), a Gamma of integer shape.
std::vector<double> GammaLaw(int shape) {
  std::vector<double> law;
  double above = 1;
  for (int cell = 1; cell <= kCells; ++cell) {
    double term = std::exp(-0.5 * cell), next = 0;
    for (int i = 0; i < shape; ++i) {
      next += term;
      term *= 0.5 * cell / (i + 1);
    }
    if (cell == kCells) next = 0;
    law.push_back(above - next);
    above = next;
  }
  return law;
}

// By rotation, e^T W e is variance chi-square(k) for every unit e. Mutant: k - 2 degrees, what the
// last diagonal entry of the triangular factor alone would have.
TEST(WishartStatTest, EveryDirectionIsChiSquare) {
  const FitTest fit =
      *FitTest::Create(kDraws, GammaLaw(kDegrees / 2), AlphaOf("wishart_diagonal") / 8);
  EXPECT_GE(fit.PowerAtLeast(GammaLaw(kDegrees / 2 - 1)), 0.99);
  std::vector<std::vector<std::uint64_t>> counts(4, std::vector<std::uint64_t>(kCells, 0));
  std::vector<std::uint64_t> mutant(kCells, 0);
  SeededBits bits(671);
  std::vector<double> w(6);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ASSERT_TRUE(SampleWishart(kSize, kDegrees, kVariance, w, bits).ok());
    const std::vector<double> forms = QuadraticForms(w);
    const auto cell = [](double form) {
      return static_cast<std::size_t>(std::min(form / kVariance, kCells - 1.0));
    };
    for (int e = 0; e < 4; ++e) ++counts[e][cell(forms[e])];
    // Mutant: the off-diagonal entries lost.
    ++mutant[cell((w[0] + w[2] + w[5]) / 3)];
  }
  for (const auto& count : counts) EXPECT_TRUE(fit.Accepts(count));
  EXPECT_FALSE(fit.Accepts(mutant));
}

// e^T Z e is normal with variance 2 sigma^2 for every unit e. Mutant: sqrt(2) missing on the
// diagonal.
TEST(WishartStatTest, EveryDirectionOfTheGaussianIsNormal) {
  constexpr double kSigma = 1.5;
  std::vector<double> law;
  double last = 0;
  for (int cell = 1; cell <= kCells; ++cell) {
    const double x = (cell - kCells / 2) * 0.125;
    const double next = cell == kCells ? 1 : std::erfc(-x / std::sqrt(2.0)) / 2;
    law.push_back(next - last);
    last = next;
  }
  const FitTest fit = *FitTest::Create(kDraws, law, AlphaOf("wishart_diagonal") / 8);
  std::vector<std::vector<std::uint64_t>> counts(4, std::vector<std::uint64_t>(kCells, 0));
  std::vector<std::uint64_t> mutant(kCells, 0);
  SeededBits bits(672);
  std::vector<double> z(6);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ASSERT_TRUE(SampleSymmetricGaussian(kSize, kSigma, z, bits).ok());
    const auto cell = [](double form) {
      const double x = form / (kSigma * std::sqrt(2.0)) / 0.125 + kCells / 2;
      return static_cast<std::size_t>(std::clamp(x, 0.0, kCells - 1.0));
    };
    const std::vector<double> forms = QuadraticForms(z);
    for (int e = 0; e < 4; ++e) ++counts[e][cell(forms[e])];
    ++mutant[cell(z[0] / std::sqrt(2.0))];
  }
  for (const auto& count : counts) EXPECT_TRUE(fit.Accepts(count));
  EXPECT_FALSE(fit.Accepts(mutant));
}

}  // namespace
}  // namespace bandana::testing
