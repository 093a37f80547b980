// Calibration and conversion against published figures and against a second method; composition
// against hand sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "common/accounting/composition.h"
#include "common/accounting/gaussian.h"
#include "common/accounting/mills.h"
#include "common/accounting/zcdp.h"
#include "tests/support/privacy_curves.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

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
      SCOPED_TRACE("mu " + std::to_string(mu) + " epsilon " + std::to_string(epsilon));
      const double delta = GaussianDelta(Mu{mu}, Epsilon{epsilon});
      EXPECT_NEAR(delta / exact, 1, 1e-9);
      // The curve is rounded up by a little: the delta itself takes an epsilon above this one.
      EXPECT_GE(GaussianEpsilon(Mu{mu}, Delta{delta})->value, epsilon);
      EXPECT_LE(GaussianEpsilon(Mu{mu}, Delta{delta * (1 + 1e-9)})->value, epsilon);
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
      EXPECT_LE(GaussianDelta(mu, Epsilon{epsilon}), delta);
      EXPECT_GT(GaussianDelta(Mu{mu.value * (1 + 1e-9)}, Epsilon{epsilon}), delta);
    }
  }
}

TEST(GaussianTest, EpsilonInvertsDelta) {
  for (const double mu : {0.01, 0.5, 3.0, 20.0}) {
    for (const double delta : {1e-15, 1e-5, 0.01}) {
      const Epsilon epsilon = *GaussianEpsilon(Mu{mu}, Delta{delta});
      EXPECT_LE(GaussianDelta(Mu{mu}, epsilon), delta);
      if (epsilon.value > 0) {
        EXPECT_GT(GaussianDelta(Mu{mu}, Epsilon{epsilon.value * (1 - 1e-9)}), delta);
      }
    }
  }
}

// The textbook formula sqrt(2 ln(1.25/delta))/eps is proved for eps < 1 only: at eps = 10 it breaks
// its delta.
TEST(GaussianTest, ShowsThatTheClassicFormulaFailsAtLargeEpsilon) {
  const double classic = std::sqrt(2 * std::log(1.25 / 1e-5)) / 10;
  EXPECT_NEAR(GaussianDelta(Mu{1 / classic}, Epsilon{10}), 2.3e-5, 0.05e-5);
}

TEST(GaussianTest, RejectsBadInput) {
  for (const double bad : {-1.0, kNan, kInf, 51.0}) {
    EXPECT_THAT(GaussianEpsilon(Mu{bad}, Delta{1e-5}),
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

TEST(GaussianTest, EpsilonWithAVariationIsTheLeastOrNone) {
  for (const double mu : {0.02, 0.5, 3.0}) {
    for (const double delta : {1e-9, 1e-5, 0.01}) {
      for (const double share : {1e-9, 1e-3, 0.1, 0.4, 0.6}) {
        const double variation = share * delta;
        const auto spent = [&](double epsilon) {
          return GaussianDelta(Mu{mu}, Epsilon{epsilon}) + (1 + std::exp(epsilon)) * variation;
        };
        const auto epsilon = GaussianEpsilon(Mu{mu}, Delta{delta}, TotalVariation{variation});
        if (epsilon.ok()) {
          EXPECT_LE(spent(epsilon->value), delta * (1 + 1e-9));
          EXPECT_GE(epsilon->value, GaussianEpsilon(Mu{mu}, Delta{delta})->value);
          if (epsilon->value > 0) {
            EXPECT_GT(spent(epsilon->value * (1 - 1e-6)), delta);
          }
          continue;
        }
        for (int i = 0; i <= 400; ++i) {
          EXPECT_GT(spent(i * 0.05), delta) << mu << " " << variation << " " << i;
        }
      }
    }
  }
  EXPECT_THAT(GaussianEpsilon(Mu{1}, Delta{1e-5}, TotalVariation{1e-5}),
              StatusIs(absl::StatusCode::kInvalidArgument, "no epsilon"));
  for (const double bad : {-1e-9, kNan}) {
    EXPECT_THAT(GaussianEpsilon(Mu{1}, Delta{1e-5}, TotalVariation{bad}),
                StatusIs(absl::StatusCode::kInvalidArgument, "variation must be"));
  }
}

// chi^2(rounded || discrete) by summing both laws over all integers: what the bound of n draws is
// made of (docs/privacy/accounting.md), and for one draw their distance itself.
TEST(GaussianTest, RoundedAndDiscreteGaussiansAreAsCloseAsTheProofSays) {
  for (const long double sigma : {2.0L, 3.7L, 10.0L, 64.0L}) {
    const auto weight = [&](long double x) { return std::exp(-x * x / (2 * sigma * sigma)); };
    const long k_max = static_cast<long>(12 * sigma);
    long double total = 0;
    for (long k = -k_max; k <= k_max; ++k) total += weight(k);
    long double chi_squared = 0, distance = 0;
    for (long k = -k_max; k <= k_max; ++k) {
      constexpr int kCuts = 64;  // Simpson's rule over [k - 1/2, k + 1/2]
      long double cell = 0;
      for (int i = 0; i <= kCuts; ++i) {
        const long double at = weight(k - 0.5L + static_cast<long double>(i) / kCuts);
        cell += at * (i == 0 || i == kCuts ? 1 : i % 2 == 1 ? 4 : 2);
      }
      cell /= 3 * kCuts * sigma * std::sqrt(2 * std::numbers::pi_v<long double>);
      const long double discrete = weight(k) / total;
      chi_squared += (cell - discrete) * (cell - discrete) / discrete;
      distance += std::abs(cell - discrete) / 2;
    }
    const long double sigma_4 = sigma * sigma * sigma * sigma;
    EXPECT_LE(static_cast<double>(chi_squared * 288 * sigma_4), 1.003) << sigma;
    EXPECT_GE(static_cast<double>(chi_squared * 288 * sigma_4), 0.9) << sigma;
    const double one = DiscreteGaussianVariation(1, static_cast<double>(sigma))->value;
    EXPECT_LE(static_cast<double>(distance), one);
    EXPECT_GE(static_cast<double>(distance), 0.9 * one);
    const double many = DiscreteGaussianVariation(10'000, 1000 * static_cast<double>(sigma))->value;
    EXPECT_GE(many * 1e6, static_cast<double>(std::sqrt(10'000 * chi_squared / 2)));
  }
  EXPECT_EQ(DiscreteGaussianVariation(0, 2)->value, 0);
  EXPECT_THAT(DiscreteGaussianVariation(-1, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, "coordinates"));
  EXPECT_THAT(DiscreteGaussianVariation(1, kInf),
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

// Every a > 1 gives a valid delta; below the epsilon that is returned none of them is small enough.
TEST(ZcdpTest, FindsTheLeastOverAllOrders) {
  for (const double rho : {1e-4, 0.05, 1.0, 30.0}) {
    for (const double delta : {1e-100, 1e-9, 1e-3}) {
      const double epsilon = ZcdpEpsilon(Rho{rho}, Delta{delta})->value;
      ASSERT_GT(epsilon, 0);
      EXPECT_LE(ZcdpDelta(Rho{rho}, Epsilon{epsilon}), delta);
      const long double less = epsilon * (1 - 1e-9L);
      for (double log_a = -12; log_a < 12; log_a += 0.01) {
        const long double a = 1 + std::exp(static_cast<long double>(log_a));
        const long double bound =
            (a - 1) * (a * rho - less) + a * std::log1p(-1 / a) - std::log(a - 1);
        ASSERT_GT(std::exp(bound), static_cast<long double>(delta)) << rho << " " << log_a;
      }
    }
  }
}

TEST(ZcdpTest, CalibrationKeepsItsPromise) {
  for (const double epsilon : {0.01, 1.0, 20.0}) {
    for (const double delta : {1e-12, 1e-5, 0.2}) {
      const Rho rho = *CalibrateZcdp(Epsilon{epsilon}, Delta{delta});
      EXPECT_LE(ZcdpDelta(rho, Epsilon{epsilon}), delta);
      EXPECT_GT(ZcdpDelta(Rho{rho.value * (1 + 1e-9)}, Epsilon{epsilon}), delta);
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

// The distance is charged (1 + e^epsilon) times, at the epsilon that is read.
TEST(CompositionTest, VariationIsChargedAtTheEpsilonThatIsRead) {
  const double variation = 1e-10;
  const auto totals =
      *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{1}, TotalVariation{variation}), 2);
  EXPECT_EQ(totals.variation, 2 * static_cast<std::uint64_t>(std::ceil(variation * 0x1p62)));
  const auto readings = *Read(totals, Delta{1e-5});
  const double epsilon = readings.gaussian_curve->value;
  const double spent = static_cast<double>(DeltaByQuadrature(std::numbers::sqrt2, epsilon)) +
                       (1 + std::exp(epsilon)) * 2 * variation;
  EXPECT_LE(spent, 1e-5);
  EXPECT_NEAR(spent, 1e-5, 1e-12);
}

// A discrete Gaussian is mu^2 / 2-zCDP as it is.
TEST(CompositionTest, VariationCostsTheZcdpReadingNothing) {
  const auto right = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{1}));
  const auto off = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{1}, TotalVariation{1e-3}));
  EXPECT_EQ(Read(off, Delta{1e-5})->zcdp, Read(right, Delta{1e-5})->zcdp);
  EXPECT_FALSE(Read(off, Delta{1e-5})->gaussian_curve) << "(1 + e^0) 1e-3 is more than delta";
}

// Two streams of JOINT with kind BLT, cap 2^30, d = 10, made for epsilon 1 at
// delta 1e-5. The slack of each, taken at epsilon 1, was added: 1.6297, where the bound is 1.60e-5.
TEST(CompositionTest, TwoStreamsOfFineGaussiansReadWhatTheProofSays) {
  constexpr double kDelta = 1e-5;
  constexpr long kValues = 65L << 30;
  const Delta slack = *DiscreteGaussianSlack(Epsilon{1}, kValues, 0x1p25);
  EXPECT_NEAR(slack.value, 4.66e-6, 0.02e-6);
  const Mu mu = *CalibrateGaussian(Epsilon{1}, Delta{kDelta - slack.value});
  const long double mu_of_both = std::numbers::sqrt2_v<long double> * mu.value;
  const TotalVariation union_bound{slack.value / (1 + std::numbers::e)};
  const double wrong =
      GaussianEpsilon(Mu{static_cast<double>(mu_of_both)}, Delta{kDelta - 2 * slack.value})->value;
  EXPECT_NEAR(wrong, 1.6297, 1e-3);
  const auto delta_at = [&](long double epsilon, double variation) {
    return DeltaByQuadrature(mu_of_both, epsilon) + (1 + std::exp(epsilon)) * 2 * variation;
  };
  EXPECT_NEAR(static_cast<double>(delta_at(wrong, union_bound.value)), 1.60e-5, 0.02e-5);

  // With the sum of all coordinates' distances no epsilon has this delta, and none is read.
  const auto coarse = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(mu, union_bound), 2);
  EXPECT_FALSE(Read(coarse, Delta{kDelta})->gaussian_curve);
  for (double epsilon = 0; epsilon < 3; epsilon += 0.1) {
    EXPECT_GT(static_cast<double>(delta_at(epsilon, union_bound.value)), kDelta) << epsilon;
  }
  // With their joint distance there is one: the least, by bisection of the quadrature.
  const TotalVariation joint = *DiscreteGaussianVariation(kValues, 0x1p25);
  EXPECT_LT(joint.value, 1.1e-11);
  const auto fine = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(mu, joint), 2);
  long double low = 0, high = 3;
  for (int i = 0; i < 40; ++i) {
    const long double middle = (low + high) / 2;
    (delta_at(middle, joint.value) <= kDelta ? high : low) = middle;
  }
  const auto readings = *Read(fine, Delta{kDelta});
  EXPECT_NEAR(readings.gaussian_curve->value, static_cast<double>(high), 1e-7);
  EXPECT_GE(readings.gaussian_curve->value, static_cast<double>(high) - 1e-11);
  EXPECT_LT(readings.gaussian_curve->value, readings.zcdp->value);
}

// A slack that the former version stored, (1 + e^epsilon) times the distance, reads more, never
// less.
TEST(CompositionTest, AnOldSlackReadAsADistanceIsConservative) {
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    const double slack = DiscreteGaussianSlack(Epsilon{epsilon}, 65L << 12, 0x1p25)->value;
    const TotalVariation distance = *DiscreteGaussianVariation(65L << 12, 0x1p25);
    EXPECT_GT(slack, 2 * distance.value);
    const auto old =
        *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{0.5}, TotalVariation{slack}), 3);
    const auto now = *Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{0.5}, distance), 3);
    EXPECT_GT(Read(old, Delta{1e-5})->gaussian_curve->value,
              Read(now, Delta{1e-5})->gaussian_curve->value);
  }
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
  for (const double bad : {-1e-9, 1.0, kNan}) {
    EXPECT_THAT(Compose(PrivacyTotals{}, PrivacyCost::Gaussian(Mu{1}, TotalVariation{bad})),
                StatusIs(absl::StatusCode::kInvalidArgument, "variation must be"));
  }
  PrivacyCost pure = PrivacyCost::Pure(Epsilon{1});
  pure.variation = {1e-9};
  EXPECT_THAT(Compose(PrivacyTotals{}, pure),
              StatusIs(absl::StatusCode::kInvalidArgument, "only a Gaussian cost"));
  EXPECT_THAT(Compose(PrivacyTotals{}, PrivacyCost{}),
              StatusIs(absl::StatusCode::kInvalidArgument, "exactly one"));
}

TEST(GroupTest, ScalesAsTheDefinitionsDo) {
  EXPECT_NEAR(GroupPure(Epsilon{2}, 3).value, 6, 1e-12);
  EXPECT_NEAR(GroupZcdp(Rho{0.5}, 4).value, 8, 1e-12);
}

}  // namespace
}  // namespace bandana::testing
