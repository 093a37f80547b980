// The estimates' noise: variance at a step and covariance across steps, against the closed forms.
// Coordinates are independent, so one run over 2^16 of them is a sample of that size. Seeds are
// fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "common/mechanisms/counters/blt_decoder.h"
#include "common/mechanisms/counters/blt_design.h"
#include "common/mechanisms/counters/blt_encoder.h"
#include "common/mechanisms/counters/tree_counter.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana {
namespace {

using testing::AlphaOf;
using testing::BinomialTest;
using testing::SeededBits;

constexpr std::size_t kSamples = IncrementGrid::kDimensionMax;
constexpr int kEarly = 2;
constexpr int kLate = 7;

// Chance that a centred Gaussian exceeds one predicted deviation when its real deviation is `ratio`
// times that. Rounding to the grid moves it by less than 1e-7.
double ChanceOutside(double ratio) { return std::erfc(1 / (ratio * std::numbers::sqrt2)); }

// Chance that two centred Gaussians of this correlation have one sign.
double ChanceOfOneSign(double correlation) {
  return 0.5 + std::asin(correlation) / std::numbers::pi;
}

std::uint64_t CountOutside(const std::vector<double>& x, double deviation) {
  std::uint64_t count = 0;
  for (const double v : x) count += std::abs(v) > deviation;
  return count;
}

std::uint64_t CountOneSign(const std::vector<double>& x, const std::vector<double>& y) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += (x[i] > 0) == (y[i] > 0);
  return count;
}

TEST(BltStatTest, VarianceAndCovarianceEqualTheClosedForm) {
  const BltDesign design = *BltDesign::Create(
      {.dimension = kSamples, .norm_bound = 1, .rho = {0.5}, .horizon = 1000, .step_cap = 1000});
  BltEncoder encoder(design);
  BltDecoder decoder(design.table(), design.grid());
  const std::vector<double> nothing(kSamples, 0);
  SeededBits bits(21);
  std::vector<double> early, late;
  for (int t = 1; t <= kLate; ++t) {
    const ClippedIncrement zero = *ClippedIncrement::Clip(nothing, design.grid());
    ASSERT_TRUE(decoder.Push(*encoder.Step(zero, bits)).ok());
    if (t == kEarly) early = decoder.Estimate();
    if (t == kLate) late = decoder.Estimate();
  }
  const double alpha = AlphaOf("blt_noise") / 3;
  const BinomialTest spread = *BinomialTest::Create(kSamples, ChanceOutside(1), alpha);
  EXPECT_TRUE(spread.Accepts(CountOutside(early, std::sqrt(design.PredictedVariance(kEarly)))));
  EXPECT_TRUE(spread.Accepts(CountOutside(late, std::sqrt(design.PredictedVariance(kLate)))));

  const Blt blt = BltOf(design.table());
  double covariance = 0;
  for (int j = 0; j < kEarly; ++j) {
    covariance += BltDecoderCoefficient(blt, j) * BltDecoderCoefficient(blt, j + kLate - kEarly);
  }
  const double correlation =
      covariance / std::sqrt(BltSquaredRow(blt, kEarly) * BltSquaredRow(blt, kLate));
  const BinomialTest signs = *BinomialTest::Create(kSamples, ChanceOfOneSign(correlation), alpha);
  EXPECT_TRUE(signs.Accepts(CountOneSign(early, late)));

  // Mutants, by exact power: a deviation 3 % too small or too large, and noise drawn afresh for
  // every estimate.
  EXPECT_GE(spread.RejectionProbability(ChanceOutside(0.97)), 0.99);
  EXPECT_GE(spread.RejectionProbability(ChanceOutside(1.03)), 0.99);
  EXPECT_GE(signs.RejectionProbability(ChanceOfOneSign(0)), 0.99);
}

// Steps 4 and 6 share the node of steps 1 .. 4: correlation 1 / sqrt(2) for the plain tree. Step 7
// has nodes of heights 2, 1, 0.
TEST(TreeStatTest, VarianceAndCovarianceEqualTheClosedForm) {
  const TreeDesign design =
      *TreeDesign::Create({.dimension = kSamples, .norm_bound = 1, .rho = {0.5}, .horizon = 7});
  TreeEncoder encoder(design);
  TreeDecoder plain(design, TreeDecoder::Estimator::kPlain);
  TreeDecoder honaker(design, TreeDecoder::Estimator::kHonaker);
  const std::vector<double> nothing(kSamples, 0);
  SeededBits bits(22);
  std::vector<double> four, six;
  for (int t = 1; t <= 7; ++t) {
    const ClippedIncrement zero = *ClippedIncrement::Clip(nothing, design.grid());
    const CounterRelease release = *encoder.Step(zero, bits);
    ASSERT_TRUE(plain.Push(release).ok());
    ASSERT_TRUE(honaker.Push(release).ok());
    if (t == 4) four = plain.Estimate();
    if (t == 6) six = plain.Estimate();
  }
  const double alpha = AlphaOf("tree_noise") / 3;
  const BinomialTest spread = *BinomialTest::Create(kSamples, ChanceOutside(1), alpha);
  EXPECT_TRUE(
      spread.Accepts(CountOutside(plain.Estimate(), std::sqrt(plain.PredictedVariance(7)))));
  EXPECT_TRUE(
      spread.Accepts(CountOutside(honaker.Estimate(), std::sqrt(honaker.PredictedVariance(7)))));
  const BinomialTest signs =
      *BinomialTest::Create(kSamples, ChanceOfOneSign(1 / std::numbers::sqrt2), alpha);
  EXPECT_TRUE(signs.Accepts(CountOneSign(four, six)));
  // Mutants: fresh noise for a node, and the plain estimate where Honaker's is declared.
  EXPECT_GE(signs.RejectionProbability(ChanceOfOneSign(0)), 0.99);
  EXPECT_GE(spread.RejectionProbability(ChanceOutside(
                std::sqrt(plain.PredictedVariance(7) / honaker.PredictedVariance(7)))),
            0.99);
}

}  // namespace
}  // namespace bandana
