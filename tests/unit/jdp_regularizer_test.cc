// Regularizers of [SS18]: constants against numbers computed elsewhere in 40 digits, and their
// bounds against drawn noise.
#include "research/published/jdp_regularizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "research/published/wishart.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The authors' experiment.
JdpOptions Authors() {
  return {.epsilon = {1}, .delta = {0.1}, .alpha = 0.05, .dimension = 5, .horizon = 50'000'000};
}
JdpOptions Other() {
  return {.epsilon = {2},
          .delta = {1e-5},
          .alpha = 0.01,
          .dimension = 10,
          .horizon = 1000,
          .context_l2_max = 0.5,
          .reward_abs_max = 2};
}

void ExpectNear(const Regularizer& actual, const Regularizer& expected) {
  EXPECT_NEAR(actual.shift / expected.shift, 1, 1e-10);
  EXPECT_NEAR(actual.rho_min / expected.rho_min, 1, 1e-10);
  EXPECT_NEAR(actual.rho_max / expected.rho_max, 1, 1e-10);
  EXPECT_NEAR(actual.gamma / expected.gamma, 1, 1e-10);
}

TEST(JdpTest, LevelsAreOnePlusTheLogarithmRoundedUp) {
  EXPECT_EQ(JdpLevels(1), 1);
  EXPECT_EQ(JdpLevels(2), 2);
  EXPECT_EQ(JdpLevels(3), 3);
  EXPECT_EQ(JdpLevels(1024), 11);
  EXPECT_EQ(JdpLevels(1025), 12);
  EXPECT_EQ(JdpLevels(50'000'000), 27);
}

TEST(JdpTest, GaussianConstants) {
  const JdpGaussian authors = *DesignJdpGaussian(Authors());
  EXPECT_NEAR(authors.sigma, 153.343839301, 1e-8);
  ExpectNear(authors.regularizer, {116689.267373, 58344.6336863, 175033.901059, 28.9653799346});
  const JdpGaussian other = *DesignJdpGaussian(Other());
  EXPECT_NEAR(other.sigma, 363.645914137, 1e-8);
  ExpectNear(other.regularizer, {126427.101398, 63213.5506988, 189640.652097, 38.8707963524});
}

TEST(JdpTest, WishartConstants) {
  const JdpWishart authors = *DesignJdpWishart(Authors(), true);
  EXPECT_EQ(authors.degrees, 139'115);
  EXPECT_EQ(authors.variance, 2);
  ExpectNear(authors.regularizer, {-7303310.44215, 139374.113958, 278748.227916, 91.8302900738});
  const JdpWishart other = *DesignJdpWishart(Other(), true);
  EXPECT_EQ(other.degrees, 120'241);
  EXPECT_EQ(other.variance, 4.25);
  ExpectNear(other.regularizer, {-5375919.55306, 163763.58554, 327527.17108, 98.817579119});
  const Regularizer unshifted = DesignJdpWishart(Authors(), false)->regularizer;
  EXPECT_EQ(unshifted.shift, 0);
  EXPECT_NEAR(unshifted.rho_min / 7442684.55611, 1, 1e-10);
  EXPECT_NEAR(unshifted.rho_max / 7582058.67007, 1, 1e-10);
  EXPECT_NEAR(unshifted.gamma, 12.5664384836, 1e-9);
}

// 0.1 sqrt(2 ln 40 + 100 - 5 ln 58344.6..) + 2 sqrt(175033.9..) + 28.96..
TEST(JdpTest, WidthOfProposition4) {
  const Regularizer regularizer = DesignJdpGaussian(Authors())->regularizer;
  const JdpWidth width{
      .reward_stddev = 0.1, .theta_norm_max = 2, .alpha = 0.05, .dimension = 5, .log_det = 100};
  const double radicand = 2 * std::log(40) + 100 - 5 * std::log(58344.6336863);
  EXPECT_NEAR(JdpBeta(width, regularizer), 865.706441575479 + 0.1 * std::sqrt(radicand), 1e-7);
  // A determinant below that of rho_min I does not occur; it must not give NaN.
  JdpWidth impossible = width;
  impossible.log_det = 30;
  EXPECT_NEAR(JdpBeta(impossible, regularizer), 865.706441575479, 1e-7);
}

// Lower triangle row by row; true if A - shift I (sign = 1) or shift I - A (sign = -1) is definite.
bool Definite(std::vector<double> a, int p, double sign, double shift) {
  for (int i = 0; i < p; ++i) {
    for (int j = 0; j <= i; ++j) {
      double& entry = a[i * (i + 1) / 2 + j];
      entry = sign * (entry - (i == j ? shift : 0));
      for (int c = 0; c < j; ++c) entry -= a[i * (i + 1) / 2 + c] * a[j * (j + 1) / 2 + c];
      if (i != j) {
        entry /= a[j * (j + 1) / 2 + j];
      } else {
        if (!(entry > 0)) return false;
        entry = std::sqrt(entry);
      }
    }
  }
  return true;
}

// |h| in the norm of H^-1 stays below gamma exactly if H - h h^T / gamma^2 is positive definite.
void ExpectBounds(const std::vector<double>& noise, int d, const Regularizer& regularizer) {
  std::vector<double> gram(noise.begin(), noise.begin() + d * (d + 1) / 2);
  for (int i = 0; i < d; ++i) gram[i * (i + 1) / 2 + i] += regularizer.shift;
  EXPECT_TRUE(Definite(gram, d, 1, regularizer.rho_min));
  EXPECT_TRUE(Definite(gram, d, -1, regularizer.rho_max));
  const double* const h = noise.data() + d * (d + 1) / 2;
  for (int i = 0, next = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j, ++next) {
      gram[next] -= h[i] * h[j] / (regularizer.gamma * regularizer.gamma);
    }
  }
  EXPECT_TRUE(Definite(gram, d, 1, 0));
}

// Each bound fails with probability below alpha / n = 1e-5 a draw; the seed is fixed.
TEST(JdpTest, DrawnNoiseStaysWithinTheBounds) {
  const JdpOptions options = Other();
  const int d = options.dimension, p = d + 1;
  const JdpGaussian gaussian = *DesignJdpGaussian(options);
  const JdpWishart shifted = *DesignJdpWishart(options, true);
  const JdpWishart plain = *DesignJdpWishart(options, false);
  SeededBits bits(661);
  std::vector<double> node(p * (p + 1) / 2);
  for (int draw = 0; draw < 50; ++draw) {
    std::vector<double> sum(node.size(), 0), wishart(node.size(), 0);
    for (int level = 0; level < gaussian.levels; ++level) {
      ASSERT_TRUE(SampleSymmetricGaussian(p, gaussian.sigma, node, bits).ok());
      for (std::size_t i = 0; i < node.size(); ++i) sum[i] += node[i];
      ASSERT_TRUE(SampleWishart(p, shifted.degrees, shifted.variance, node, bits).ok());
      for (std::size_t i = 0; i < node.size(); ++i) wishart[i] += node[i];
    }
    ExpectBounds(sum, d, gaussian.regularizer);
    ExpectBounds(wishart, d, shifted.regularizer);
    ExpectBounds(wishart, d, plain.regularizer);
    // One matrix too few, and the shift makes H negative: why padding is drawn.
    std::vector<double> short_by_one = wishart;
    for (std::size_t i = 0; i < node.size(); ++i) short_by_one[i] -= node[i];
    for (int i = 0; i < d; ++i) short_by_one[i * (i + 1) / 2 + i] += shifted.regularizer.shift;
    EXPECT_FALSE(Definite(short_by_one, d, 1, 0));
  }
}

TEST(JdpTest, RefusesBadOptions) {
  const auto refuse = [](const char* what, auto change) {
    JdpOptions options = Other();
    change(options);
    EXPECT_THAT(DesignJdpGaussian(options), StatusIs(absl::StatusCode::kInvalidArgument, what));
    EXPECT_THAT(DesignJdpWishart(options, true),
                StatusIs(absl::StatusCode::kInvalidArgument, what));
  };
  for (const double bad : {0.0, -1.0, kNan, kInf}) {
    refuse("epsilon", [&](JdpOptions& options) { options.epsilon = {bad}; });
    refuse("delta", [&](JdpOptions& options) { options.delta = {bad}; });
    refuse("alpha", [&](JdpOptions& options) { options.alpha = bad; });
    refuse("context_l2_max", [&](JdpOptions& options) { options.context_l2_max = bad; });
    refuse("reward_abs_max", [&](JdpOptions& options) { options.reward_abs_max = bad; });
  }
  refuse("delta", [](JdpOptions& options) { options.delta = {1}; });
  refuse("alpha", [](JdpOptions& options) { options.alpha = 1; });
  refuse("dimension", [](JdpOptions& options) { options.dimension = 0; });
  refuse("horizon", [](JdpOptions& options) { options.horizon = 0; });
  JdpOptions tiny = Other();
  tiny.epsilon = {1e-6};
  EXPECT_THAT(DesignJdpWishart(tiny, true),
              StatusIs(absl::StatusCode::kInvalidArgument, "epsilon must be large enough"));
  JdpOptions huge = Other();
  huge.epsilon = {1000};
  huge.horizon = 1;  // 12 degrees of freedom for 10 dimensions
  EXPECT_THAT(DesignJdpWishart(huge, false),
              StatusIs(absl::StatusCode::kInvalidArgument, "epsilon must be smaller"));
  EXPECT_TRUE(DesignJdpWishart(huge, true).ok());
}

TEST(WishartTest, FailsClosed) {
  std::vector<double> out(6);
  FailingBits dry(0);
  EXPECT_THAT(SampleWishart(3, 8, 1, out, dry), StatusIs(absl::StatusCode::kUnavailable, ""));
  EXPECT_THAT(SampleSymmetricGaussian(3, 1, out, dry),
              StatusIs(absl::StatusCode::kUnavailable, ""));
}

}  // namespace
}  // namespace bandana::testing
