#include "common/judging/anytime_bound.h"

#include <cmath>

#include "common/judging/mixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

// The integral over l of exp(l s - v (-log(1-l) - l)) against the density that is proportional to
// (1-l)^(r-1) exp(-r (1-l)) on [0, 1), by the midpoint rule in the root of 1-l, which has no pole
// for r >= 0.5.
double ByIntegration(double s, double v, double r) {
  constexpr int kSteps = 400'000;
  double integral = 0, mass = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double root = (i + 0.5) / kSteps;
    const double rest = root * root;  // 1 - l
    const double density = std::pow(root, 2 * r - 1) * std::exp(-r * rest);
    mass += density;
    integral += density * std::exp((1 - rest) * s + v * (std::log(rest) + 1 - rest));
  }
  return std::log(integral / mass);
}

TEST(Mixture, IsTheIntegralThatItStandsFor) {
  for (const double r : {0.5, 3.0, 40.0}) {
    for (const double v : {0.0, 5.0, 200.0}) {
      for (const double s : {0.1, 4.0, 30.0}) {
        EXPECT_NEAR(LogGammaExponential(s, v, r), ByIntegration(s, v, r), 1e-4)
            << s << " " << v << " " << r;
      }
    }
  }
}

TEST(Mixture, RootIsWhereTheThresholdIs) {
  for (const double r : {1e-3, 1.0, 1e4}) {
    for (const double v : {0.0, 1.0, 1e3, 1e7}) {
      for (const double threshold : {1.0, std::log(40.0), std::log(2e6)}) {
        const double root = GammaExponentialRoot(threshold, v, r);
        EXPECT_NEAR(LogGammaExponential(root, v, r), threshold, 1e-6) << v << " " << r;
      }
    }
  }
}

TEST(AnytimeBound, ExcludesWhatIsBelowItsBound) {
  AnytimeBound bound(3, 20);
  for (int i = 0; i < 500; ++i) bound.Add({.centre = 0.5, .residual = i % 3 == 0 ? 1.0 : -0.4});
  const double threshold = std::log(40.0);
  const double low = bound.Lower(threshold);
  EXPECT_LT(low, 0.5 + (1 - 0.8) / 3);
  EXPECT_GT(low, 0.3);
  EXPECT_TRUE(bound.Excludes(low - 1e-6, threshold));
  EXPECT_FALSE(bound.Excludes(low + 1e-6, threshold));
  EXPECT_NEAR(bound.LogWealth(low), threshold, 1e-6);
  EXPECT_EQ(bound.LogWealth(10), 0);
}

TEST(AnytimeBound, SaysNothingWithoutTerms) {
  EXPECT_EQ(AnytimeBound(1, 1).Lower(1), -std::numeric_limits<double>::infinity());
}

TEST(BoundDesign, TakesTheCutOfTheShortestBound) {
  // At k = 5 the square is 1, below it 100: sqrt(2 L v/t) decides for many decisions.
  BoundDesign design;
  design.CountDecision();
  for (std::size_t cut = 0; cut < BoundDesign::kCuts.size(); ++cut) {
    design.Add(cut, BoundDesign::kCuts[cut] < 5 ? 100 : 1);
  }
  const AnytimeBound many = design.Choose(1e6, std::log(40.0));
  EXPECT_EQ(many.k(), 5);
  EXPECT_DOUBLE_EQ(many.r(), MixtureParameter(1e6 / 36, std::log(40.0)));
  // For few decisions the least k: 2 (k+1) L / (3 t) decides.
  BoundDesign flat;
  flat.CountDecision();
  for (std::size_t cut = 0; cut < BoundDesign::kCuts.size(); ++cut) flat.Add(cut, 1);
  EXPECT_EQ(flat.Choose(10, std::log(40.0)).k(), 1);
}

}  // namespace
}  // namespace bandana::testing
