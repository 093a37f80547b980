// The spherical cap: masses against quadrature, the optimum against a search, energies.
#include "common/mechanisms/cap_design.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/cap_moment.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Tail {
  long double mass;
  long double moment;
};

// Simpson's rule on phi, t = cos phi: the density of t is sin^(n - 2) phi / integral of it.
Tail Quadrature(int n, double g) {
  constexpr int kSteps = 8000;
  const auto integrate = [n](long double end, bool with_cosine) {
    long double sum = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const long double phi = end * i / kSteps;
      const long double weight = i == 0 || i == kSteps ? 1 : (i % 2 == 1 ? 4 : 2);
      sum += weight * std::pow(std::sin(phi), static_cast<long double>(n - 2)) *
             (with_cosine ? std::cos(phi) : 1);
    }
    return sum * end / kSteps / 3;
  };
  const long double whole = integrate(std::acos(-1.0L), false);
  const long double end = std::acos(static_cast<long double>(g));
  return {integrate(end, false) / whole, integrate(end, true) / whole};
}

TEST(CapTest, MassAndMomentAreTheIntegrals) {
  for (const int n : {3, 4, 6, 21, 66, 2145}) {
    for (const double z : {0.0, 0.01, 0.3, 1.0, 2.0, 3.2}) {
      const double g = std::min(z / std::sqrt(n), 0.97);
      const Tail tail = Quadrature(n, g);
      EXPECT_NEAR(CapMass(n, g) / tail.mass, 1, 5e-9) << n << " " << g;
      EXPECT_NEAR(CapMoment(n, g) / tail.moment, 1, 5e-9) << n << " " << g;
    }
  }
  // Archimedes: on the ordinary sphere t is uniform.
  EXPECT_NEAR(CapMass(3, 0.3), 0.35, 1e-15);
  EXPECT_NEAR(CapMass(3, 0.9), 0.05, 1e-15);
  EXPECT_NEAR(CapDensity(3, 0.9), 0.5, 1e-15);
  EXPECT_NEAR(CapMass(66, 0), 0.5, 1e-15);
  // The density is minus the derivative of the mass.
  EXPECT_NEAR((CapMass(66, 0.2 - 1e-5) - CapMass(66, 0.2 + 1e-5)) / 2e-5 / CapDensity(66, 0.2), 1,
              1e-6);
}

TEST(DesignCapTest, TheCapHasTheWeightThatEpsilonAllows) {
  for (const int n : {3, 66, 2145}) {
    for (const double epsilon : {0.01, 1.0, 5.0}) {
      const CapDesign design = *DesignCap(n, {epsilon});
      const double p = design.cap_weight, q = design.mass;
      EXPECT_NEAR(std::log(p / q) - std::log((1 - p) / (1 - q)), epsilon, 1e-9);
      EXPECT_NEAR(design.acceptance, q + (1 - q) * std::exp(-epsilon), 1e-15);
      // m = p E[t | cap] + (1 - p) E[t | complement], by quadrature.
      const Tail tail = Quadrature(n, design.threshold);
      const double mean = static_cast<double>(p * tail.moment / tail.mass -
                                              (1 - p) * tail.moment / (1 - tail.mass));
      EXPECT_NEAR(design.mean / mean, 1, 1e-8);
    }
  }
}

TEST(DesignCapTest, NoOtherCapHasLessNoise) {
  for (const int n : {3, 6, 66, 2145}) {
    for (const double epsilon : {0.1, 1.0, 2.0, 5.0, 8.0}) {
      const CapDesign design = *DesignCap(n, {epsilon});
      for (double g = 0.002; g < 1; g += 0.002) {
        const double q = CapMass(n, g);
        if (q < 1e-6 || g * std::sqrt(n) > 5) break;
        const double outside = std::exp(-epsilon);
        const double mean = (1 - outside) * CapMoment(n, g) / (q + (1 - q) * outside);
        EXPECT_LE(mean, design.mean * (1 + 1e-6)) << n << " " << epsilon << " " << g;
      }
      EXPECT_NEAR(design.threshold, design.mean, 1e-5);
    }
  }
}

// E t^2 by quadrature of t^2 = 1 - (1 - t^2), and the variance in every direction.
TEST(DesignCapTest, TheNoiseIsTheSameInEveryDirection) {
  for (const int n : {6, 66}) {
    const CapDesign design = *DesignCap(n, {2});
    // (1 - t^2) times the density in R^n is c_n / c_(n+2) times the density in R^(n+2).
    const double ratio = CapDensity(n, 0) / CapDensity(n + 2, 0);
    const double inside = design.mass - ratio * CapMass(n + 2, design.threshold);
    const double everywhere = 1.0 / n;
    const double outside = std::exp(-2.0);
    const double second = (inside + outside * (everywhere - inside)) / design.acceptance;
    EXPECT_NEAR(testing::SecondMoment(design), second, 1e-9);
    const double m = design.mean;
    const double along = (second - m * m) / (m * m);
    const double across = (1 - second) / (n - 1) / (m * m);
    EXPECT_NEAR(along / across, 1, 1e-4);  // g is rounded
    EXPECT_NEAR(design.Variance(), across, 1e-6 * across);
  }
}

// The planning figures 818 / 210 / 38.7 are (2 / m^2) D / (D + 1), the second moment of the
// estimate beyond that of phi's own; the noise itself is 2 D / (D + 1) smaller.
TEST(DesignCapTest, NoiseEnergyAtDimensionTen) {
  const struct {
    double epsilon, planned, noise;
  } kRows[] = {{1, 818, 815.7}, {2, 210, 207.6}, {5, 38.7, 36.70}};
  for (const auto& row : kRows) {
    const CapDesign design = *DesignCap(66, {row.epsilon});
    EXPECT_NEAR(2 / (design.mean * design.mean) * 65 / 66 / row.planned, 1, 0.003);
    EXPECT_NEAR(2 * design.Variance() * 65 / row.noise, 1, 2e-4);
  }
}

TEST(DesignCapTest, AboveTheOptimumTheCapStaysLargeEnoughToFind) {
  for (const int n : {3, 66, 33'153}) {
    const CapDesign design = *DesignCap(n, {20});
    EXPECT_GE(design.mass, kCapMassMin * (1 - 1e-9));
    EXPECT_LE(design.mass, kCapMassMin * 1.01);
    EXPECT_LT(design.threshold, design.mean);
    // Still better than a smaller epsilon.
    EXPECT_LT(design.Variance(), DesignCap(n, {10})->Variance());
  }
}

// It is taken off epsilon; the bounds are what the note states.
TEST(DesignCapTest, RoundingCostsNextToNothing) {
  for (const int n : {3, 66, 2145, 33'153}) {  // d = 1, 10, 64, 256
    for (const double epsilon : {1e-6, 0.1, 1.0, 5.0, 10.0, 20.0, 1000.0}) {
      const double slack = DesignCap(n, {epsilon})->slack;
      EXPECT_GT(slack, 0);
      EXPECT_LT(slack, 0x1p-36) << n << " " << epsilon;
      if (n > 3 && n <= 2145 && epsilon <= 10) {
        EXPECT_LT(slack, 1.1e-12) << n << " " << epsilon;
      }
      if (n <= 66 && epsilon <= 5) {
        EXPECT_LT(slack, 0x1p-40) << n << " " << epsilon;
      }
    }
  }
}

TEST(DesignCapTest, RefusesBadInput) {
  for (const double bad : {0.0, -1.0, kNan, kInf, 1001.0}) {
    EXPECT_THAT(DesignCap(66, {bad}), StatusIs(absl::StatusCode::kInvalidArgument, "epsilon"));
  }
  for (const int bad : {-1, 2, 65'537}) {
    EXPECT_THAT(DesignCap(bad, {1}), StatusIs(absl::StatusCode::kInvalidArgument, "n"));
  }
}

}  // namespace
}  // namespace bandana::testing
