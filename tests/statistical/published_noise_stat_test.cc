// Vector noise of the papers against its law. Seeds are fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/alpha_registry.h"
#include "tests/support/randomizer_mutants.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tools/published/published_noise.h"

namespace bandana::testing {
namespace {

constexpr std::uint64_t kDraws = 200'000;
constexpr int kSize = 10, kCells = 60;
constexpr double kScale = 1.5;

PublishedNoise Noise(PublishedNoiseKind kind) {
  return *PublishedNoise::Create(
      {.kind = kind, .epsilon = {2}, .size = kSize, .sensitivity = {2 * kScale}});
}

// Cells of width kWidth scales, the last one open.
constexpr double kWidth = 0.5;
std::size_t CellOf(double magnitude) {
  return static_cast<std::size_t>(std::min(magnitude / (kWidth * kScale), kCells - 1.0));
}

// Law of a Gamma(shape) over the cells, shape an integer: P(X > x) = e^-x sum_{i < shape} x^i / i!.
Law GammaLaw(int shape, double scale = 1) {
  Law law;
  double above = 1;
  for (int cell = 1; cell <= kCells; ++cell) {
    const double x = cell * kWidth / scale;
    double term = std::exp(-x), next = 0;
    for (int i = 0; i < shape; ++i) {
      next += term;
      term *= x / (i + 1);
    }
    if (cell == kCells) next = 0;
    law.push_back(above - next);
    above = next;
  }
  return law;
}

// Mutants: size - 1 in the radius, which forgets the Jacobian of polar coordinates; scale 0.97.
TEST(PublishedNoiseStatTest, L2NormHasAGammaRadiusAndNoDirection) {
  const PublishedNoise noise = Noise(PublishedNoiseKind::kL2Norm);
  const FitTest radius_fit =
      *FitTest::Create(kDraws, GammaLaw(kSize), AlphaOf("published_noise_fit") / 4);
  EXPECT_GE(radius_fit.PowerAtLeast(GammaLaw(kSize - 1)), 0.99);
  EXPECT_GE(radius_fit.PowerAtLeast(GammaLaw(kSize, 0.97)), 0.99);
  // The orthant of the last three coordinates.
  const FitTest orthant_fit =
      *FitTest::Create(kDraws, Law(8, 0.125), AlphaOf("published_noise_fit") / 4);
  std::vector<std::uint64_t> radii(kCells, 0), orthants(8, 0);
  SeededBits bits(631);
  std::vector<double> eta(kSize);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ASSERT_TRUE(noise.Sample(eta, bits).ok());
    double squares = 0;
    for (const double value : eta) squares += value * value;
    ++radii[CellOf(std::sqrt(squares))];
    ++orthants[(eta[7] > 0) + 2 * (eta[8] > 0) + 4 * (eta[9] > 0)];
  }
  EXPECT_TRUE(radius_fit.Accepts(radii));
  EXPECT_TRUE(orthant_fit.Accepts(orthants));
}

TEST(PublishedNoiseStatTest, CoordinatesAreLaplace) {
  const PublishedNoise noise = Noise(PublishedNoiseKind::kCoordinateLaplace);
  // |eta_c| is exponential, their sum over the coordinates a Gamma(size) if they are independent.
  const FitTest one = *FitTest::Create(kDraws, GammaLaw(1), AlphaOf("published_noise_fit") / 4);
  const FitTest sum = *FitTest::Create(kDraws, GammaLaw(kSize), AlphaOf("published_noise_fit") / 4);
  std::vector<std::uint64_t> ones(kCells, 0), sums(kCells, 0);
  SeededBits bits(632);
  std::vector<double> eta(kSize);
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    ASSERT_TRUE(noise.Sample(eta, bits).ok());
    double total = 0;
    for (const double value : eta) total += std::abs(value);
    ++ones[CellOf(std::abs(eta[3]))];
    ++sums[CellOf(total)];
  }
  EXPECT_TRUE(one.Accepts(ones));
  EXPECT_TRUE(sum.Accepts(sums));
}

TEST(PublishedNoiseStatTest, MutantsAreRejected) {
  const FitTest fit =
      *FitTest::Create(kDraws, GammaLaw(kSize), AlphaOf("published_noise_mutants") / 2);
  SeededBits bits(633);
  EXPECT_FALSE(fit.Accepts(testing::SampleCounts(GammaLaw(kSize - 1), kDraws, bits)));
  EXPECT_FALSE(fit.Accepts(testing::SampleCounts(GammaLaw(kSize, 0.97), kDraws, bits)));
}

}  // namespace
}  // namespace bandana::testing
