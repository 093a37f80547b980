// Integer clipping, and the Gaussian and Laplace mechanisms on the joint statistic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/integer_clip.h"
#include "common/mechanisms/joint_statistic.h"
#include "tests/support/failing_bits.h"
#include "tests/support/privacy_curves.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tools/published/laplace_mechanism.h"

namespace bandana::testing {
namespace {

using ::testing::Optional;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

JointStatistic Phi(int dimension, int grid_bits = 20) {
  return *JointStatistic::Create({.dimension = dimension, .grid_bits = grid_bits});
}

GaussianMechanism Gaussian(const JointStatistic& phi, double epsilon, double delta = 1e-5) {
  return *GaussianMechanism::Create({.epsilon = {epsilon},
                                     .delta = {delta},
                                     .size = phi.size(),
                                     .sensitivity = phi.l2_sensitivity()});
}

TEST(ClipL2Test, RoundsTowardZeroInsideTheBound) {
  const double x[] = {0.99, -0.99, 2.5, -2.5, 0};
  EXPECT_THAT(ClipL2(x, 1, 100), Optional(ElementsAre(0, 0, 2, -2, 0)));
  EXPECT_THAT(ClipL2(x, 0.5, 100), Optional(ElementsAre(1, -1, 5, -5, 0)));
  // On the bound exactly is inside.
  const double edge[] = {3, 4};
  EXPECT_THAT(ClipL2(edge, 1, 5), Optional(ElementsAre(3, 4)));
}

TEST(ClipL2Test, ScalesDownAndKeepsTheDirection) {
  const double x[] = {3e300, -4e300};
  const std::vector<std::int64_t> clipped = *ClipL2(x, 1, 1'000'000);
  EXPECT_NEAR(static_cast<double>(clipped[0]), 600'000, 1);
  EXPECT_NEAR(static_cast<double>(clipped[1]), -800'000, 1);
  EXPECT_TRUE(WithinL2(clipped, 1'000'000));
}

TEST(ClipL2Test, NoFiniteVectorPassesTheBound) {
  SeededBits bits(500);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<double> x(1 + i % 7);
    for (double& value : x) {
      // Any finite pattern of bits, and every third time values near the bound.
      value = std::bit_cast<double>(*bits.NextWord());
      if (!std::isfinite(value) || i % 3 == 0) {
        value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(*bits.NextWord())), -63);
      }
    }
    const std::int64_t bound = std::int64_t{1} << (i % 41);
    const auto clipped = ClipL2(x, std::ldexp(1.0, -(i % 41)), bound);
    ASSERT_TRUE(clipped.has_value());
    EXPECT_TRUE(WithinL2(*clipped, bound));
  }
}

TEST(ClipL2Test, RefusesWhatHasNoDirection) {
  for (const double bad : {kNan, kInf, -kInf}) {
    const double x[] = {1, bad};
    EXPECT_EQ(ClipL2(x, 1, 10), std::nullopt);
  }
}

TEST(JointStatisticTest, RefusesBadOptions) {
  for (const int dimension : {0, -1, 257}) {
    EXPECT_THAT(JointStatistic::Create({.dimension = dimension}),
                StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  }
  for (const double bad : {0.0, -1.0, kNan, kInf, 1e10, 1e-10}) {
    EXPECT_THAT(JointStatistic::Create({.dimension = 2, .context_l2_max = bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, "context_l2_max"));
    EXPECT_THAT(JointStatistic::Create({.dimension = 2, .reward_abs_max = bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, "reward_abs_max"));
  }
  for (const int bad : {7, 27}) {
    EXPECT_THAT(JointStatistic::Create({.dimension = 2, .grid_bits = bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, "grid_bits"));
  }
}

TEST(JointStatisticTest, SensitivityIsThatOfPhiPlusTheGrid) {
  EXPECT_EQ(Phi(10).size(), 65);
  // 1.5 sqrt(2) and two half-open steps a coordinate.
  EXPECT_NEAR(Phi(10).l2_sensitivity().value, 1.5 * std::sqrt(2) * 0x1p20 + 2 * std::sqrt(65),
              1e-4);
  EXPECT_NEAR(Phi(1).l2_sensitivity().value, 2 * 0x1p20 + 2 * std::sqrt(2), 1e-4);
  EXPECT_NEAR(Phi(10).l1_sensitivity().value / Phi(10).l2_sensitivity().value, std::sqrt(65), 1e-9);
}

// The mean and the mean square over many draws show phi and sigma.
TEST(GaussianMechanismTest, ReleasesPhiInItsPackedOrder) {
  const JointStatistic phi = *JointStatistic::Create(
      {.dimension = 2, .context_l2_max = 2, .reward_abs_max = 10, .grid_bits = 10});
  const GaussianMechanism mechanism = Gaussian(phi, 5);
  // x / L = (0.6, -0.8), r / R = 0.5.
  const ClippedStatistics clipped = phi.Clip(RawInteraction({1.2, -1.6}, 5));
  const std::vector<double> expected = {0.36, -0.48 * std::sqrt(2), 0.64, 0.3, -0.4};
  constexpr int kDraws = 4000;
  std::vector<double> sums(5, 0), squares(5, 0);
  SeededBits bits(501);
  for (int i = 0; i < kDraws; ++i) {
    const PerturbedStatistics released = *mechanism.Perturb(clipped, bits);
    EXPECT_EQ(released.log2_step(), -10);
    for (int c = 0; c < 5; ++c) {
      const double value = std::ldexp(static_cast<double>(released.grid()[c]), -10);
      sums[c] += value;
      squares[c] += (value - expected[c]) * (value - expected[c]);
    }
  }
  const double variance = std::ldexp(static_cast<double>(mechanism.sigma_squared()), -20);
  for (int c = 0; c < 5; ++c) {
    // 5.6 standard errors each; the seed is fixed.
    EXPECT_NEAR(sums[c] / kDraws, expected[c], 5.6 * std::sqrt(variance / kDraws) + 0x1p-10) << c;
    EXPECT_NEAR(squares[c] / kDraws / variance, 1, 5.6 * std::sqrt(2.0 / kDraws)) << c;
  }
}

// sigma of one analytic Gaussian on phi, delta 1e-5, computed beforehand in Python.
TEST(GaussianMechanismTest, SigmaIsTheAnalyticOne) {
  const JointStatistic phi = Phi(10);
  for (const auto& [epsilon, sigma] :
       {std::pair{0.5, 14.917}, {1.0, 7.914}, {2.0, 4.230}, {5.0, 1.892}}) {
    const GaussianMechanism mechanism = Gaussian(phi, epsilon);
    EXPECT_NEAR(std::ldexp(std::sqrt(static_cast<double>(mechanism.sigma_squared())), -20), sigma,
                6e-4 * sigma / 1.8)
        << epsilon;
  }
}

TEST(GaussianMechanismTest, TheCostReadsAtMostWhatWasAskedFor) {
  for (const int grid_bits : {14, 20}) {
    for (const double epsilon : {0.1, 1.0, 5.0, 10.0}) {
      const JointStatistic phi = Phi(10, grid_bits);
      const GaussianMechanism mechanism = Gaussian(phi, epsilon, 1e-2);
      const PrivacyCost& cost = mechanism.descriptor().cost;
      const double delta = testing::GaussianDelta(*cost.mu, {epsilon}) +
                           (1 + std::exp(epsilon)) * cost.variation.value;
      EXPECT_LE(delta, 1e-2);
      // And little noise is wasted: sigma is made for the sum of the coordinates' distances, the
      // cost states their joint one.
      EXPECT_GE(delta, 0.98e-2);
      const PrivacyCost composed = mechanism.ComposedCost();
      EXPECT_NEAR(composed.rho->value / (cost.mu->value * cost.mu->value / 2), 1, 1e-12);
    }
  }
}

// On the finest grid, where the default one would use delta up.
TEST(GaussianMechanismTest, ServesLargeEpsilonOnAFineGrid) {
  EXPECT_THAT(
      GaussianMechanism::Create(
          {.epsilon = {20}, .delta = {1e-5}, .size = 65, .sensitivity = Phi(10).l2_sensitivity()}),
      StatusIs(absl::StatusCode::kInvalidArgument, "used up"));
  const JointStatistic phi = Phi(10, JointStatistic::kGridBitsMax);
  const PrivacyCost cost = Gaussian(phi, 20).descriptor().cost;
  // The cost is rounded outward by 2^-48.
  EXPECT_LE(testing::GaussianDelta(*cost.mu, {20}) + (1 + std::exp(20)) * cost.variation.value,
            1e-5 * (1 + 1e-11));
}

TEST(GaussianMechanismTest, RefusesBadOptions) {
  const GaussianMechanism::Options good = {
      .epsilon = {1}, .delta = {1e-5}, .size = 65, .sensitivity = {1e6}};
  ASSERT_THAT(GaussianMechanism::Create(good), IsOk());
  const auto refuse = [&](const char* what, auto change) {
    GaussianMechanism::Options options = good;
    change(options);
    EXPECT_THAT(GaussianMechanism::Create(options),
                StatusIs(absl::StatusCode::kInvalidArgument, what));
  };
  for (const double bad : {0.0, -1.0, kNan, kInf, 1001.0}) {
    refuse("epsilon", [&](auto& options) { options.epsilon = {bad}; });
  }
  for (const double bad : {0.0, -1.0, kNan, kInf, 1.0}) {
    refuse("delta", [&](auto& options) { options.delta = {bad}; });
  }
  for (const double bad : {0.0, -1.0, kNan, kInf, 0x1p41}) {
    refuse("sensitivity", [&](auto& options) { options.sensitivity = {bad}; });
  }
  refuse("size", [](auto& options) { options.size = 0; });
  refuse("size", [](auto& options) { options.size = (1 << 20) + 1; });
  refuse("finer grid", [](auto& options) { options.sensitivity = {1}; });
  refuse("used up", [](auto& options) { options.sensitivity = {10}; });
  refuse("coarser grid", [](auto& options) { options.sensitivity = {0x1p30}; });
}

TEST(LaplaceMechanismTest, ScaleAndCostRoundTowardPrivacy) {
  const LaplaceMechanism mechanism =
      *LaplaceMechanism::Create({.epsilon = {0.3}, .size = 2, .sensitivity = {10}});
  EXPECT_EQ(mechanism.scale(), 34);  // ceil(33.3)
  EXPECT_GE(mechanism.descriptor().cost.pure->value, 10.0 / 34);
  EXPECT_NEAR(mechanism.descriptor().cost.pure->value, 10.0 / 34, 1e-12);
}

TEST(LaplaceMechanismTest, RefusesBadOptions) {
  const LaplaceMechanism::Options good = {.epsilon = {1}, .size = 65, .sensitivity = {1e6}};
  ASSERT_THAT(LaplaceMechanism::Create(good), IsOk());
  for (const double bad : {0.0, -1.0, kNan, kInf, 1001.0}) {
    LaplaceMechanism::Options options = good;
    options.epsilon = {bad};
    EXPECT_THAT(LaplaceMechanism::Create(options),
                StatusIs(absl::StatusCode::kInvalidArgument, "epsilon"));
  }
  for (const double bad : {0.0, -1.0, kNan, kInf, 0x1p51}) {
    LaplaceMechanism::Options options = good;
    options.sensitivity = {bad};
    EXPECT_THAT(LaplaceMechanism::Create(options),
                StatusIs(absl::StatusCode::kInvalidArgument, "sensitivity"));
  }
  for (const std::size_t bad : {0, (1 << 20) + 1}) {
    LaplaceMechanism::Options options = good;
    options.size = bad;
    EXPECT_THAT(LaplaceMechanism::Create(options),
                StatusIs(absl::StatusCode::kInvalidArgument, "size"));
  }
  EXPECT_THAT(LaplaceMechanism::Create({.epsilon = {1e-12}, .size = 65, .sensitivity = {1e6}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "coarser grid"));
}

// Statistics that another statistic made, with more sensitivity than the noise is for, are refused
// before a bit is drawn; a dry source returns nothing.
TEST(VectorMechanismsTest, NothingIsDrawnForTheWrongStatistics) {
  const JointStatistic coarse = Phi(3, 10), fine = Phi(3, 12), wide = Phi(4, 10);
  const GaussianMechanism gaussian = Gaussian(coarse, 1);
  const LaplaceMechanism laplace = *LaplaceMechanism::Create(
      {.epsilon = {1}, .size = coarse.size(), .sensitivity = coarse.l1_sensitivity()});
  FailingBits dry(0);
  for (const JointStatistic* other : {&fine, &wide}) {
    const ClippedStatistics clipped = other->Clip(RawInteraction({1, 0, 0}, 1));
    EXPECT_THAT(gaussian.Perturb(clipped, dry),
                StatusIs(absl::StatusCode::kInvalidArgument, "statistics"));
    EXPECT_THAT(laplace.Perturb(clipped, dry),
                StatusIs(absl::StatusCode::kInvalidArgument, "statistics"));
  }
  const ClippedStatistics right = coarse.Clip(RawInteraction({1, 0, 0}, 1));
  FailingBits short_of(100);  // dry in the middle of the vector
  EXPECT_THAT(gaussian.Perturb(right, short_of),
              StatusIs(absl::StatusCode::kUnavailable, "entropy"));
  EXPECT_THAT(laplace.Perturb(right, dry), StatusIs(absl::StatusCode::kUnavailable, "entropy"));
  SeededBits bits(502);
  EXPECT_EQ(laplace.Perturb(right, bits)->grid().size(), coarse.size());
}

TEST(VectorMechanismsTest, ParametersHaveOneHash) {
  const auto hash = [](double epsilon, int dimension) {
    return ToHex(Gaussian(Phi(dimension), epsilon).descriptor().parameters);
  };
  EXPECT_EQ(hash(1, 3), hash(1, 3));
  EXPECT_NE(hash(1, 3), hash(1.001, 3));
  EXPECT_NE(hash(1, 3), hash(1, 4));
}

}  // namespace
}  // namespace bandana::testing
