// The rule that features are clipped by, and that device, request and catalogue all follow it.
#include "common/mechanisms/feature_ball.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "client/core/features.h"
#include "server/models/catalogue/arm_rules.h"
#include "server/models/catalogue/catalogue.h"
#include "server/service/arm_set.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `x` scaled to have the norm l2_max times `factor`, as an application would normalise it.
std::vector<double> Scaled(std::vector<double> x, double l2_max, double factor) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  for (double& v : x) v = v / std::sqrt(sum) * l2_max * factor;
  return x;
}

std::vector<double> Direction(SeededBits& bits, int dimension) {
  std::vector<double> x(dimension);
  for (double& v : x) {
    v = static_cast<double>(bits.NextWord().value_or(0) >> 11) * 0x1p-52 - 1;
  }
  return x;
}

TEST(FeatureBallTest, SaysWhereAVectorWas) {
  std::vector<double> inside = {0.6, 0.8};
  EXPECT_EQ(ClipToBall(inside, 1), BallFit::kInside);
  EXPECT_EQ(inside, (std::vector<double>{0.6, 0.8}));
  std::vector<double> rounding = {1 + 1e-15, 0};
  EXPECT_EQ(ClipToBall(rounding, 1), BallFit::kRounding);
  EXPECT_EQ(rounding, (std::vector<double>{1, 0}));
  std::vector<double> outside = {1 + 2e-9, 0};
  EXPECT_EQ(ClipToBall(outside, 1), BallFit::kOutside);
  EXPECT_EQ(outside, (std::vector<double>{1, 0}));
  std::vector<double> infinite = {kInfinity, 0};
  EXPECT_EQ(ClipToBall(infinite, 1), BallFit::kNotFinite);
  EXPECT_EQ(infinite, (std::vector<double>{kInfinity, 0}));
  std::vector<double> zeros = {0, 0};
  EXPECT_EQ(ClipToBall(zeros, 1), BallFit::kInside);
}

TEST(FeatureBallTest, WhatIsClippedLiesInside) {
  SeededBits bits(20);
  for (int draw = 0; draw < 20'000; ++draw) {
    const int dimension = 1 + draw % 40;
    const double l2_max = std::exp2(draw % 60 - 30) * (1 + draw * 1e-5);
    const double factor = draw % 3 == 0 ? 1 + 1e-15 : (draw % 3 == 1 ? 1 + 1e-9 : 1e6);
    std::vector<double> x = Scaled(Direction(bits, dimension), l2_max, factor);
    ClipToBall(x, l2_max);
    ASSERT_TRUE(InBall(x, l2_max)) << draw;
    ASSERT_EQ(ClipToBall(x, l2_max), BallFit::kInside) << draw;
    double sum = 0;
    for (const double v : x) sum += v * v;
    ASSERT_NEAR(std::sqrt(sum) / l2_max, 1, 1e-12) << draw;
  }
  // Squares, and even the norm, overflow; or vanish.
  for (const double large : {1e300, std::numeric_limits<double>::max()}) {
    std::vector<double> x(7, large);
    EXPECT_EQ(ClipToBall(x, 3), BallFit::kOutside);
    EXPECT_TRUE(InBall(x, 3));
    EXPECT_NEAR(x[0], 3 / std::sqrt(7.0), 1e-12);
  }
  std::vector<double> tiny = {1e-100, 0};
  ClipToBall(tiny, 1e-200);
  EXPECT_TRUE(InBall(tiny, 1e-200));
}

// One arm as device, request and catalogue read it: its features, or a refusal.
struct Verdicts {
  std::vector<double> device, request, catalogue;
};

Verdicts VerdictsOn(const std::vector<double>& x, double l2_max, bool reject) {
  const int dimension = static_cast<int>(x.size());
  Verdicts found;
  if (const auto clipped = device::ClipArms(x, dimension, l2_max, reject); clipped.ok()) {
    found.device = *clipped;
  }
  v1::ArmSet arms;
  arms.mutable_inline_arms()->mutable_features()->Assign(x.begin(), x.end());
  server::ArmBlock block;
  const auto none = server::Catalogue::Make(dimension, {});
  if (server::LoadArms(arms, {.dimension = dimension, .l2_max = l2_max, .reject = reject}, 10,
                       *none, block)
          .ok()) {
    found.request.assign(block.arms[0], block.arms[0] + dimension);
  }
  server::CatalogueArm arm{1, x, {}};
  std::uint64_t clipped = 0;
  if (server::CheckArm(
          {.dimension = dimension, .feature_l2_max = l2_max, .reject_features = reject}, arm,
          clipped)
          .ok()) {
    found.catalogue = arm.features;
  }
  return found;
}

// A device once refused a normalised vector that was a rounding above the bound, and that the
// server would have taken.
TEST(FeatureBallTest, DeviceRequestAndCatalogueAgree) {
  SeededBits bits(21);
  const double ulp = 0x1p-52;
  for (const double factor : {1.0, 1 + ulp, 1 + 4 * ulp, 1 + 1e-12, 1 + 0.9e-9, 1 + 1.1e-9, 2.0}) {
    for (int draw = 0; draw < 200; ++draw) {
      const double l2_max = draw % 2 == 0 ? 1 : 2.5;
      const std::vector<double> x = Scaled(Direction(bits, 1 + draw % 30), l2_max, factor);
      for (const bool reject : {false, true}) {
        const Verdicts found = VerdictsOn(x, l2_max, reject);
        EXPECT_EQ(found.device.empty(), reject && factor > 1 + 1e-9);
        EXPECT_EQ(found.device, found.request);
        EXPECT_EQ(found.device, found.catalogue);
      }
    }
  }
}

TEST(FeatureBallTest, ABoundOfOneUlp) {
  const std::vector<double> at = {1, 0};
  const std::vector<double> above = {std::nextafter(1.0, 2.0), 0};
  const std::vector<double> far = {1 + 1.5e-9, 0};
  EXPECT_EQ(VerdictsOn(at, 1, true).device, at);
  EXPECT_EQ(VerdictsOn(above, 1, true).device, at);
  EXPECT_EQ(VerdictsOn(above, 1, true).request, at);
  EXPECT_TRUE(VerdictsOn(far, 1, true).device.empty());
  EXPECT_TRUE(VerdictsOn(far, 1, true).request.empty());
}

}  // namespace
}  // namespace bandana::testing
