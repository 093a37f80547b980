// Calibration and conversion against published figures and against a second method; composition
// against hand sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "common/accounting/composition.h"
#include "common/accounting/gaussian.h"
#include "common/accounting/mills.h"
#include "common/accounting/zcdp.h"
#include "tests/support/status_matchers.h"

namespace bandana {
namespace {

using testing::IsOk;
using testing::StatusIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// delta(eps) by another route: the mean of (1 - e^{eps - L})^+ over the privacy loss L ~ N(mu^2/2,
// mu^2), by Simpson's rule.
long double DeltaByQuadrature(long double mu, long double epsilon) {
  const long double lower = (epsilon - mu * mu / 2) / mu, upper = std::max(lower, 0.0L) + 14;
  constexpr int kSteps = 40'000;
  const long double h = (upper - lower) / kSteps;
  long double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const long double z = lower + h * i;
    const long double loss = mu * mu / 2 + mu * z;
    const long double value = -std::expm1(epsilon - loss) * std::exp(-z * z / 2);
    sum += value * (i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2);
  }
  return sum * h / 3 / std::sqrt(2 * std::numbers::pi_v<long double>);
}

TEST(MillsRatioTest, AgreesAcrossItsTwoBranchesAndWithTheTable) {
  EXPECT_NEAR(static_cast<double>(MillsRatio(0)), std::sqrt(std::numbers::pi / 2), 1e-15);
  // R satisfies R' = x R - 1; central difference across the seam at 8.
  const long double h = 1e-5L;
  const long double slope = (MillsRatio(8 + h) - MillsRatio(8 - h)) / (2 * h);
  EXPECT_NEAR(static_cast<double>(slope), static_cast<double>(8 * MillsRatio(8) - 1), 1e-12);
  // Abramowitz & Stegun 26.2.12 bounds: x/(1 + x^2) < R < 1/x.
  for (const double x : {1.0, 7.9, 8.0, 8.1, 30.0, 1000.0}) {
    EXPECT_GT(static_cast<double>(MillsRatio(x)), x / (1 + x * x));
    EXPECT_LT(static_cast<double>(MillsRatio(x)), 1 / x);
  }
}

TEST(GaussianTest, DeltaAgreesWithQuadratureOfThePrivacyLoss) {
  for (const double mu : {0.05, 0.3, 1.0, 2.5, 6.0}) {
    for (const double epsilon : {0.0, 0.1, 0.5, 1.0, 3.0, 10.0}) {
      const double exact = static_cast<double>(DeltaByQuadrature(mu, epsilon));
      if (exact < 1e-60) continue;
      const auto delta = GaussianDelta(Mu{mu}, Epsilon{epsilon});
      ASSERT_THAT(delta, IsOk());
      EXPECT_NEAR(delta->value / exact, 1, 1e-9) << "mu " << mu << " epsilon " << epsilon;
      EXPECT_GE(delta->value, exact * (1 - 1e-13)) << "rounded down";
    }
  }
}

// sigma at sensitivity 1, computed independently with mpmath-style arithmetic; columns epsilon,
// delta, sigma.
TEST(GaussianTest, CalibratesToTheKnownTable) {
  const struct {
    double epsilon, delta, sigma;
  } rows[] = {{0.5, 1e-5, 7.0318}, {1, 1e-5, 3.7306},  {2, 1e-5, 1.9938}, {5, 1e-5, 0.8919},
              {10, 1e-5, 0.4999},  {0.5, 0.1, 1.5563}, {1, 0.1, 1.0859},  {2, 0.1, 0.7320},
              {5, 0.1, 0.4250},    {10, 0.1, 0.2818}};
  for (const auto& row : rows) {
    const auto mu = CalibrateGaussian(Epsilon{row.epsilon}, Delta{row.delta});
    ASSERT_THAT(mu, IsOk());
    EXPECT_NEAR(1 / mu->value, row.sigma, 5.1e-5) << row.epsilon << " " << row.delta;
  }
}

TEST(GaussianTest, CalibrationKeepsItsPromiseAndWastesNothing) {
  for (const double epsilon : {0.0, 1e-3, 0.5, 2.0, 20.0, 300.0}) {
    for (const double delta : {1e-300, 1e-12, 1e-5, 0.3}) {
      const Mu mu = *CalibrateGaussian(Epsilon{epsilon}, Delta{delta});
      EXPECT_LE(GaussianDelta(mu, Epsilon{epsilon})->value, delta);
      EXPECT_GT(GaussianDelta(Mu{mu.value * (1 + 1e-9)}, Epsilon{epsilon})->value, delta);
    }
  }
}

TEST(GaussianTest, EpsilonInvertsDelta) {
  for (const double mu : {0.01, 0.5, 3.0, 20.0}) {
    for (const double delta : {1e-15, 1e-5, 0.01}) {
      const Epsilon epsilon = *GaussianEpsilon(Mu{mu}, Delta{delta});
      EXPECT_LE(GaussianDelta(Mu{mu}, epsilon)->value, delta);
      if (epsilon.value > 0) {
        EXPECT_GT(GaussianDelta(Mu{mu}, Epsilon{epsilon.value * (1 - 1e-9)})->value, delta);
      }
    }
  }
}

// The textbook formula sqrt(2 ln(1.25/delta))/eps is proved for eps < 1 only: at eps = 10 it breaks
// its delta.
TEST(GaussianTest, ShowsThatTheClassicFormulaFailsAtLargeEpsilon) {
  const double classic = std::sqrt(2 * std::log(1.25 / 1e-5)) / 10;
  EXPECT_NEAR(GaussianDelta(Mu{1 / classic}, Epsilon{10})->value, 2.3e-5, 0.05e-5);
}

TEST(GaussianTest, RejectsBadInput) {
  for (const double bad : {-1.0, kNan, kInf, 51.0}) {
    EXPECT_THAT(GaussianDelta(Mu{bad}, Epsilon{1}),
                StatusIs(absl::StatusCode::kInvalidArgument, "mu must be in"));
  }
  for (const double bad : {-1.0, kNan, kInf}) {
    EXPECT_THAT(CalibrateGaussian(Epsilon{bad}, Delta{1e-5}),
                StatusIs(absl::StatusCode::kInvalidArgument, "epsilon must be in"));
  }
  for (const double bad : {-1.0, 0.0, 1.0, kNan}) {
    EXPECT_THAT(GaussianEpsilon(Mu{1}, Delta{bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, "delta must be in"));
  }
  EXPECT_THAT(DiscreteGaussianSlack(Epsilon{1}, 65, 1.9),
              StatusIs(absl::StatusCode::kInvalidArgument, "sigma_grid"));
}

// 65 coordinates at sigma = 2^20 grid steps: 4.4e-12 at eps 1, 2.6e-8 at eps 10.
TEST(GaussianTest, DiscretisationSlackIsSmallOnAFineGrid) {
  EXPECT_NEAR(DiscreteGaussianSlack(Epsilon{1}, 65, 0x1p20)->value, 4.4e-12, 0.05e-12);
  EXPECT_NEAR(DiscreteGaussianSlack(Epsilon{10}, 65, 0x1p20)->value, 2.6e-8, 0.05e-8);
}

TEST(ZcdpTest, ConvertsToTheKnownTable) {
  const struct {
    double rho, at_1e5, at_1e6, gaussian_1e5;
  } rows[] = {{0.01, 0.546, 0.622, 0.497}, {0.1, 1.914, 2.142, 1.760}, {0.5, 4.728, 5.222, 4.377},
              {1, 7.077, 7.766, 6.573},    {2, 10.725, 11.689, 9.997}, {5, 19.047, 20.552, 17.857}};
  for (const auto& row : rows) {
    EXPECT_NEAR(ZcdpEpsilon(Rho{row.rho}, Delta{1e-5})->value, row.at_1e5, 5.1e-4);
    EXPECT_NEAR(ZcdpEpsilon(Rho{row.rho}, Delta{1e-6})->value, row.at_1e6, 5.1e-4);
    EXPECT_NEAR(GaussianEpsilon(Mu{std::sqrt(2 * row.rho)}, Delta{1e-5})->value, row.gaussian_1e5,
                5.1e-4);
  }
}

// Every a > 1 gives a valid delta, so none may lie below the one returned by more than rounding.
TEST(ZcdpTest, FindsTheLeastOverAllOrders) {
  for (const double rho : {1e-4, 0.05, 1.0, 30.0}) {
    for (const double epsilon : {0.01, 1.0, 10.0, 100.0}) {
      const double delta = ZcdpDelta(Rho{rho}, Epsilon{epsilon})->value;
      if (delta < 1e-300) continue;  // beyond a double's relative precision
      for (double log_a = -12; log_a < 12; log_a += 0.01) {
        const long double a = 1 + std::exp(static_cast<long double>(log_a));
        const long double bound =
            (a - 1) * (a * rho - epsilon) + a * std::log1p(-1 / a) - std::log(a - 1);
        ASSERT_GE(std::exp(bound) * (1 + 1e-9L),
                  static_cast<long double>(std::fmin(delta, 1.0)) * (1 - 1e-9L));
      }
    }
  }
}

TEST(ZcdpTest, CalibrationKeepsItsPromise) {
  for (const double epsilon : {0.01, 1.0, 20.0}) {
    for (const double delta : {1e-12, 1e-5, 0.2}) {
      const Rho rho = *CalibrateZcdp(Epsilon{epsilon}, Delta{delta});
      EXPECT_LE(ZcdpDelta(rho, Epsilon{epsilon})->value, delta);
      EXPECT_GT(ZcdpDelta(Rho{rho.value * (1 + 1e-9)}, Epsilon{epsilon})->value, delta);
    }
  }
}

TEST(CompositionTest, PureReleasesAddExactlyInFixedPoint) {
  const auto totals = Compose(PrivacyTotals{}, PrivacyCost::Pure(Epsilon{0.1}), 10);
  ASSERT_THAT(totals, IsOk());
  EXPECT_EQ(totals->pure, 10 * static_cast<std::uint64_t>(std::ceil(0.1 * 0x1p40)));
  const auto readings = Read(*totals, Delta{1e-5});
  ASSERT_THAT(readings, IsOk());
  EXPECT_GE(readings->pure_sum->value, 1.0);
  EXPECT_NEAR(readings->pure_sum->value, 1.0, 1e-11);
  EXPECT_FALSE(readings->gaussian_curve);
  // rho = 10 * 0.1^2 / 2 = 0.05 reads less than the pure sum would at many small releases.
  EXPECT_NEAR(readings->zcdp->value, ZcdpEpsilon(Rho{0.05}, Delta{1e-5})->value, 1e-9);
}

TEST(CompositionTest, GaussianReleasesComposeAsOneGaussian) {
  auto totals = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{0.3}));
  totals = *Compose(totals, PrivacyCost::Gaussian(Mu{0.4}));
  const auto readings = *Read(totals, Delta{1e-5});
  EXPECT_NEAR(readings.gaussian_curve->value, GaussianEpsilon(Mu{0.5}, Delta{1e-5})->value, 1e-9);
  EXPECT_GE(readings.gaussian_curve->value, GaussianEpsilon(Mu{0.5}, Delta{1e-5})->value);
  EXPECT_LT(readings.gaussian_curve->value, readings.zcdp->value);
  EXPECT_EQ(readings.best()->value, readings.gaussian_curve->value);
  EXPECT_FALSE(readings.pure_sum);
}

TEST(CompositionTest, MixedReleasesGoThroughZcdp) {
  auto totals = *Compose(PrivacyTotals{}, PrivacyCost::Pure(Epsilon{1}));
  totals = *Compose(totals, PrivacyCost::Gaussian(Mu{1}));
  totals = *Compose(totals, PrivacyCost::Zcdp(Rho{0.25}));
  const auto readings = *Read(totals, Delta{1e-6});
  EXPECT_FALSE(readings.pure_sum);
  EXPECT_FALSE(readings.gaussian_curve);
  EXPECT_NEAR(readings.zcdp->value, ZcdpEpsilon(Rho{1.25}, Delta{1e-6})->value, 1e-9);
}

TEST(CompositionTest, SlackIsTakenFromTheAskedDelta) {
  const auto totals = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{1}, Delta{4e-6}));
  const auto readings = *Read(totals, Delta{1e-5});
  EXPECT_NEAR(readings.gaussian_curve->value, GaussianEpsilon(Mu{1}, Delta{6e-6})->value, 1e-9);
  EXPECT_FALSE(Read(totals, Delta{4e-6})->best()) << "no delta is left to pay for the curve";
}

TEST(CompositionTest, OrderDoesNotMatter) {
  const PrivacyCost costs[] = {PrivacyCost::Pure(Epsilon{0.7}), PrivacyCost::Gaussian(Mu{0.2}),
                               PrivacyCost::Zcdp(Rho{0.1})};
  PrivacyTotals forward, backward;
  for (int i = 0; i < 3; ++i) {
    forward = *Compose(forward, costs[i]);
    backward = *Compose(backward, costs[2 - i]);
  }
  EXPECT_EQ(forward, backward);
}

TEST(CompositionTest, ParallelTakesTheLarger) {
  const auto a = *Compose(PrivacyTotals{}, PrivacyCost::Pure(Epsilon{2}));
  const auto b = *Compose(PrivacyTotals{}, PrivacyCost::Pure(Epsilon{3}));
  EXPECT_EQ(Parallel(a, b), b);
}

TEST(CompositionTest, SaturatesInsteadOfWrapping) {
  const auto totals = *Compose(PrivacyTotals{}, PrivacyCost::Pure(Epsilon{20}), 1'000'000'000);
  EXPECT_EQ(totals.pure, PrivacyTotals::kSaturated);
  EXPECT_EQ(Compose(totals, PrivacyCost::Pure(Epsilon{1}))->pure, PrivacyTotals::kSaturated);
  EXPECT_FALSE(Read(totals, Delta{1e-5})->best()) << "an unbounded loss must not read as a number";
}

TEST(CompositionTest, RefusesNonsense) {
  for (const double bad : {-1.0, kNan, kInf}) {
    EXPECT_THAT(Compose(PrivacyTotals{}, PrivacyCost::Pure(Epsilon{bad})),
                StatusIs(absl::StatusCode::kInvalidArgument, "finite"));
    EXPECT_THAT(Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{bad})),
                StatusIs(absl::StatusCode::kInvalidArgument, "finite"));
  }
  EXPECT_THAT(Compose(PrivacyTotals{}, PrivacyCost{}),
              StatusIs(absl::StatusCode::kInvalidArgument, "exactly one"));
}

TEST(GroupTest, ScalesAsTheDefinitionsDo) {
  EXPECT_NEAR(GroupPure(Epsilon{2}, 3).value, 6, 1e-12);
  EXPECT_NEAR(GroupZcdp(Rho{0.5}, 4).value, 8, 1e-12);
  EXPECT_NEAR(GroupGaussian(Mu{0.5}, 4).value, 2, 1e-12);
  // delta (e^{2} - 1)/(e^{1} - 1) = delta (e + 1).
  const auto group = GroupApproximate(Epsilon{1}, Delta{1e-6}, 2);
  ASSERT_THAT(group, IsOk());
  EXPECT_NEAR(group->delta.value, 1e-6 * (std::numbers::e + 1), 1e-14);
  EXPECT_THAT(GroupApproximate(Epsilon{10}, Delta{1e-6}, 3),
              StatusIs(absl::StatusCode::kInvalidArgument, "not below 1"));
}

}  // namespace
}  // namespace bandana
