// privunit: what it refuses, NaN, scales, the report, entropy.
#include "common/mechanisms/privunit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

JointStatistic Phi(int dimension, double context = 1, double reward = 1) {
  return *JointStatistic::Create(
      {.dimension = dimension, .context_l2_max = context, .reward_abs_max = reward});
}

TEST(PrivUnitTest, RefusesBadEpsilon) {
  for (const double bad : {0.0, -1.0, 1e-7, kNan, kInf, 1001.0}) {
    EXPECT_THAT(PrivUnit::Create(Phi(2), {bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, "epsilon must be in"));
  }
}

TEST(PrivUnitTest, ExponentAndSlackStayWithinEpsilon) {
  for (const int dimension : {1, 10, 256}) {
    for (const double epsilon : {1e-6, 0.5, 2.0, 20.0, 1000.0}) {
      const PrivUnit privunit = *PrivUnit::Create(Phi(dimension), {epsilon});
      const CapDesign& design = privunit.design();
      EXPECT_LE(design.epsilon + design.slack, epsilon);
      EXPECT_GE(design.epsilon, epsilon - 0x1p-34);  // and nothing is wasted
      EXPECT_EQ(privunit.descriptor().cost.pure->value, epsilon);
      EXPECT_EQ(privunit.descriptor().label, GuaranteeLabel::kProven);
    }
  }
}

TEST(PrivUnitTest, ParametersTellDesignsApart) {
  const auto hash = [](int dimension, double epsilon) {
    return PrivUnit::Create(Phi(dimension), {epsilon})->descriptor().parameters;
  };
  EXPECT_EQ(hash(3, 1), hash(3, 1));
  EXPECT_NE(hash(3, 1), hash(4, 1));
  EXPECT_NE(hash(3, 1), hash(3, 1.5));
}

TEST(PrivUnitTest, TheReportIsSixteenBytesThatDecode) {
  const PrivUnit privunit = *PrivUnit::Create(Phi(3), {1});
  SeededBits bits(641);
  const PerturbedDirection report =
      *privunit.Randomize(Phi(3).Clip(RawInteraction({0.6, 0, 0.8}, 0.5)), bits);
  static_assert(sizeof(PerturbedDirection) == 16);
  EXPECT_EQ(report.seed().size(), 16);
  const JointEstimate estimate = *privunit.Decode(report.seed());
  EXPECT_EQ(estimate.gram.size(), 6);
  EXPECT_EQ(estimate.moment.size(), 3);
  EXPECT_EQ(privunit.Decode(report.seed())->gram, estimate.gram);
  EXPECT_NE(privunit.Decode(PublicSeed{})->gram, estimate.gram);
}

// The mean of many reports is phi in units of the data, and its spread the one announced.
TEST(PrivUnitTest, EstimatesTheEventInItsOwnUnits) {
  const JointStatistic phi = Phi(2, 2, 10);
  const PrivUnit privunit = *PrivUnit::Create(phi, {3});
  const ClippedStatistics clipped = phi.Clip(RawInteraction({1.2, -1.6}, 5));
  constexpr int kDraws = 20'000;
  std::vector<double> sums(5, 0), squares(5, 0);
  SeededBits bits(642);
  for (int i = 0; i < kDraws; ++i) {
    const JointEstimate one = *privunit.Decode(privunit.Randomize(clipped, bits)->seed());
    const double entries[] = {one.gram[0], one.gram[1], one.gram[2], one.moment[0], one.moment[1]};
    for (int c = 0; c < 5; ++c) {
      sums[c] += entries[c];
      squares[c] += entries[c] * entries[c];
    }
  }
  const double expected[] = {1.44, -1.92, 2.56, 6, -8};
  const JointVariance variance = privunit.EntryVariance();
  const double variances[] = {variance.gram_diagonal, variance.gram_off_diagonal,
                              variance.gram_diagonal, variance.moment, variance.moment};
  for (int c = 0; c < 5; ++c) {
    const double mean = sums[c] / kDraws;
    // 5.6 standard errors each, a bounded variable; the seed is fixed.
    EXPECT_NEAR(mean, expected[c], 5.6 * std::sqrt(variances[c] / kDraws)) << c;
    EXPECT_NEAR((squares[c] / kDraws - mean * mean) / variances[c], 1, 0.05) << c;
  }
}

// With the same bits, whatever cannot be used gives the report of phi = 0.
TEST(PrivUnitTest, WhatIsNotANumberCountsAsZero) {
  const JointStatistic phi = Phi(2);
  const PrivUnit privunit = *PrivUnit::Create(phi, {2});
  const auto report = [&](std::vector<double> features, std::optional<double> reward,
                          std::uint64_t seed) {
    SeededBits bits(seed);
    return privunit.Randomize(phi.Clip(RawInteraction(std::move(features), reward)), bits)->seed();
  };
  int differ = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const PublicSeed zero = report({0, 0}, 0, seed);
    EXPECT_EQ(report({kNan, 0.5}, 1, seed), zero);
    EXPECT_EQ(report({kInf, 0.5}, 1, seed), zero);
    EXPECT_EQ(report({0.5}, 1, seed), zero);
    EXPECT_EQ(report({0.6, 0.8}, kNan, seed), report({0.6, 0.8}, std::nullopt, seed));
    EXPECT_EQ(report({0.6, 0.8}, 7, seed), report({0.6, 0.8}, 1, seed));  // clipped
    EXPECT_EQ(report({3e200, 4e200}, 1, seed), report({0.6, 0.8}, 1, seed));
    differ += report({1, 0}, 1, seed) != zero;
  }
  EXPECT_GT(differ, 10);
}

TEST(PrivUnitTest, RefusesStatisticsOfAnotherShape) {
  const PrivUnit privunit = *PrivUnit::Create(Phi(3), {1});
  FailingBits dry(0);  // nothing may be drawn
  EXPECT_THAT(privunit.Randomize(Phi(2).Clip(RawInteraction({1, 0}, 1)), dry),
              StatusIs(absl::StatusCode::kInvalidArgument, "statistics"));
  const JointStatistic coarse = *JointStatistic::Create({.dimension = 3, .grid_bits = 10});
  EXPECT_THAT(privunit.Randomize(coarse.Clip(RawInteraction({1, 0, 0}, 1)), dry),
              StatusIs(absl::StatusCode::kInvalidArgument, "statistics"));
}

TEST(PrivUnitTest, FailsClosedWhereverEntropyEnds) {
  const JointStatistic phi = Phi(2);
  const PrivUnit privunit = *PrivUnit::Create(phi, {5});
  const ClippedStatistics clipped = phi.Clip(RawInteraction({1, 0}, 1));
  int failed = 0, released = 0;
  for (std::size_t bytes = 0; bytes < 2000; bytes += 8) {
    FailingBits bits(bytes, 643);
    const auto report = privunit.Randomize(clipped, bits);
    if (report.ok()) {
      ++released;
    } else {
      ++failed;
      EXPECT_THAT(report, StatusIs(absl::StatusCode::kUnavailable, "entropy"));
      EXPECT_EQ(released, 0) << "more bytes never turn a release into a failure";
    }
  }
  EXPECT_GT(failed, 2);
  EXPECT_GT(released, 2);
}

}  // namespace
}  // namespace bandana::testing
