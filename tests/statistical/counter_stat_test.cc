// The estimates' noise: variance at a step and covariance across steps, against the closed form and
// the dense matrix. Coordinates are independent, so one run over 2^16 of them is a sample of that
// size. Seeds are fixed: the run is deterministic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/dense_counter.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"

namespace bandana::testing {
namespace {

constexpr std::size_t kSamples = IncrementGrid::kDimensionMax;

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

class CounterStatTest : public ::testing::TestWithParam<CounterKind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, CounterStatTest, ::testing::ValuesIn(kCounterKinds),
                         [](const auto& info) { return std::string(CounterKindName(info.param)); });

TEST_P(CounterStatTest, VarianceAndCovarianceEqualTheClosedForm) {
  // Two steps that share nodes: 5 and 7 lie in one doubling and over one node of height 2.
  const bool epochs = GetParam() == CounterKind::kEpochs;
  const std::uint64_t early_step = epochs ? 33 : 5;
  const std::uint64_t late_step = epochs ? 36 : 7;
  const CounterDesign design = *CounterDesign::Create({.kind = GetParam(),
                                                       .dimension = kSamples,
                                                       .rho = {0.5},
                                                       .horizon = late_step,
                                                       .step_cap = late_step});
  CounterEncoder encoder(design);
  CounterDecoder decoder(design);
  const ClippedIncrement zero =
      *ClippedIncrement::Clip(std::vector<double>(kSamples, 0), design.grid());
  SeededBits bits(21);
  std::vector<double> early;
  for (std::uint64_t t = 1; t <= late_step; ++t) {
    ASSERT_TRUE(decoder.Push(*encoder.Step(zero, bits)).ok());
    if (t == early_step) early = decoder.Estimate();
  }
  const std::vector<double> late = decoder.Estimate();

  const double alpha = AlphaOf("counter_noise") / static_cast<double>(3 * std::size(kCounterKinds));
  const BinomialTest spread = *BinomialTest::Create(kSamples, ChanceOutside(1), alpha);
  const double early_variance = design.PredictedVariance(early_step);
  const double late_variance = design.PredictedVariance(late_step);
  EXPECT_TRUE(spread.Accepts(CountOutside(early, std::sqrt(early_variance))));
  EXPECT_TRUE(spread.Accepts(CountOutside(late, std::sqrt(late_variance))));

  const DenseCounter dense(design, late_step);
  const double correlation =
      dense.Covariance(early_step, late_step) / std::sqrt(early_variance * late_variance);
  const BinomialTest signs = *BinomialTest::Create(kSamples, ChanceOfOneSign(correlation), alpha);
  EXPECT_TRUE(signs.Accepts(CountOneSign(early, late)));

  // Mutants, by exact power: a deviation 3 % too small or too large, and noise drawn afresh for
  // every estimate.
  EXPECT_GE(spread.RejectionProbability(ChanceOutside(0.97)), 0.99);
  EXPECT_GE(spread.RejectionProbability(ChanceOutside(1.03)), 0.99);
  EXPECT_GE(signs.RejectionProbability(ChanceOfOneSign(0)), 0.99);
}

}  // namespace
}  // namespace bandana::testing
