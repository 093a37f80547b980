// The grid that a Gaussian is put on.
#include "common/mechanisms/noise_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/mechanisms/gaussian_mechanism.h"
#include "common/mechanisms/joint_statistic.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(NoiseGridTest, SigmaHasTwentySixBitsOfSteps) {
  for (const double sigma : {1e-100, 1e-9, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3e7, 1e100}) {
    const double steps = std::ldexp(sigma, -*NoiseGridExponent(sigma));
    EXPECT_GT(steps, 0x1p25) << sigma;
    EXPECT_LE(steps, 0x1p26) << sigma;
    // The exact sampler takes this, with room for a sensitivity 1.4 times as large.
    EXPECT_LE(1.96 * steps * steps, static_cast<double>(DiscreteGaussian::kSigmaSquaredMax));
  }
  EXPECT_EQ(*NoiseGridExponent(1), -26);  // a power of two is the upper end
  EXPECT_EQ(*NoiseGridExponent(std::nextafter(1.0, 2.0)), -25);
}

TEST(NoiseGridTest, RefusesBadSigma) {
  for (const double bad : {0.0, -1.0, kNan, kInf, 1e101}) {
    EXPECT_THAT(NoiseGridExponent(bad), StatusIs(absl::StatusCode::kInvalidArgument, "sigma"));
  }
}

// Every grid it names is one that both classes accept, and one bit more is not.
TEST(JointGridBitsTest, IsTheFinestThatServes) {
  for (const int dimension : {1, 10, 256}) {
    for (const double epsilon : {1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0}) {
      for (const double delta : {1e-9, 1e-5}) {
        const auto make = [&](int bits) {
          const auto phi = JointStatistic::Create({.dimension = dimension, .grid_bits = bits});
          if (!phi.ok()) return absl::StatusOr<GaussianMechanism>(phi.status());
          return GaussianMechanism::Create({.epsilon = {epsilon},
                                            .delta = {delta},
                                            .size = phi->size(),
                                            .sensitivity = phi->l2_sensitivity()});
        };
        const int bits = *JointGridBits(dimension, {epsilon}, {delta});
        if (dimension == 256 && epsilon == 10 && delta == 1e-9) {  // beyond what any grid gives
          EXPECT_THAT(make(bits), StatusIs(absl::StatusCode::kInvalidArgument, "used up"));
          continue;
        }
        EXPECT_TRUE(make(bits).ok()) << dimension << " " << epsilon << " " << make(bits).status();
        // Within the sampler's last half bit there may be room for one more, never for two.
        if (bits < JointStatistic::kGridBitsMax) {
          EXPECT_FALSE(make(bits + 2).ok());
        }
      }
    }
  }
  EXPECT_EQ(*JointGridBits(10, {1}, {1e-5}), 23);  // sigma = 7.9
  EXPECT_EQ(*JointGridBits(10, {20}, {1e-5}), 26);
  EXPECT_LT(*JointGridBits(10, {0.01}, {1e-5}), 20);
}

TEST(JointGridBitsTest, RefusesBadInput) {
  EXPECT_THAT(JointGridBits(0, {1}, {1e-5}),
              StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  for (const double bad : {-1.0, kNan, kInf}) {
    EXPECT_THAT(JointGridBits(2, {bad}, {1e-5}), StatusIs(absl::StatusCode::kInvalidArgument, ""));
    EXPECT_THAT(JointGridBits(2, {1}, {bad}), StatusIs(absl::StatusCode::kInvalidArgument, ""));
  }
  EXPECT_THAT(JointGridBits(2, {1e-6}, {1e-9}),
              StatusIs(absl::StatusCode::kInvalidArgument, "epsilon must be large enough"));
}

}  // namespace
}  // namespace bandana::testing
