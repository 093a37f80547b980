#include "common/ranking/link.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Link, NamesAreParsedAndOthersRefused) {
  for (const Link link : {Link::kLinear, Link::kLogistic}) {
    EXPECT_EQ(ParseLink(LinkName(link)).value(), link);
  }
  EXPECT_EQ(ParseLink("linear").value(), Link::kLinear);
  EXPECT_EQ(ParseLink("logistic").value(), Link::kLogistic);
  EXPECT_THAT(ParseLink("probit"), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Against long double, with the series of mu' integrated by mu itself.
TEST(Link, LogisticMatchesLongDoubleFromTailToTail) {
  for (double z = -700; z <= 700; z += 0.37) {
    const long double mean = 1 / (1 + std::exp(-static_cast<long double>(z)));
    const long double flipped = 1 / (1 + std::exp(static_cast<long double>(z)));
    EXPECT_NEAR(LinkMean(Link::kLogistic, z) / static_cast<double>(mean), 1, 1e-14) << z;
    EXPECT_NEAR(LinkSlope(Link::kLogistic, z), static_cast<double>(mean * flipped),
                1e-14 * static_cast<double>(mean * flipped))
        << z;
    const long double chord = 4 * (mean - 0.5L) / static_cast<long double>(z);
    EXPECT_NEAR(ChordShare(Link::kLogistic, z), static_cast<double>(chord), 1e-12) << z;
  }
}

TEST(Link, SaturationIsFiniteAndFlat) {
  EXPECT_EQ(LinkMean(Link::kLogistic, kInfinity), 1);
  EXPECT_EQ(LinkMean(Link::kLogistic, -kInfinity), 0);
  EXPECT_EQ(LinkMean(Link::kLogistic, 1e308), 1);
  EXPECT_EQ(LinkSlope(Link::kLogistic, 1e308), 0);
  EXPECT_EQ(LinkSlope(Link::kLogistic, -kInfinity), 0);
  EXPECT_NEAR(ChordShare(Link::kLogistic, 1e6), 2e-6, 1e-18);
  EXPECT_EQ(ChordShare(Link::kLogistic, kInfinity), 0);
}

TEST(Link, ChordShareFallsFromOneAndIsEven) {
  EXPECT_EQ(ChordShare(Link::kLogistic, 0), 1);
  double last = 1;
  for (double z = 1e-6; z < 1e6; z *= 1.3) {
    const double share = ChordShare(Link::kLogistic, z);
    EXPECT_LE(share, last);
    EXPECT_GT(share, 0);
    EXPECT_EQ(share, ChordShare(Link::kLogistic, -z));
    last = share;
  }
  // Across the change from the series to tanh, z = 2e-4.
  EXPECT_NEAR(ChordShare(Link::kLogistic, 1.9999e-4), ChordShare(Link::kLogistic, 2.0001e-4),
              1e-12);
  EXPECT_EQ(ChordShare(Link::kLinear, 1e9), 1);
}

// E[reward features] = mu'(0) features (features . theta) at the right theta-hat, for every arm.
TEST(Link, StraightEventsAreLinearAtTheRightEstimate) {
  const std::vector<double> theta = {3, -2};
  for (const std::vector<double>& x :
       {std::vector<double>{1, 0}, {0.6, 0.8}, {0, 0}, {-0.5, 0.5}}) {
    const double z = x[0] * theta[0] + x[1] * theta[1];
    const double mean = LinkMean(Link::kLogistic, z);
    const StraightEvent one = Straighten(Link::kLogistic, x, 1, z);
    const StraightEvent zero = Straighten(Link::kLogistic, x, 0, z);
    EXPECT_EQ(one.features, zero.features);
    const double predictor = one.features[0] * theta[0] + one.features[1] * theta[1];
    EXPECT_NEAR(mean * one.reward + (1 - mean) * zero.reward, 0.25 * predictor, 1e-14);
  }
}

TEST(Link, StraightEventsAreNoLongerThanTheEvent) {
  for (const double z : {0.0, 0.1, -3.0, 40.0, 1e300, kInfinity, -kInfinity, kNan}) {
    const StraightEvent event = Straighten(Link::kLogistic, {0.6, -0.8}, 1, z);
    EXPECT_LE(std::hypot(event.features[0], event.features[1]), 1) << z;
    EXPECT_EQ(event.reward, 0.5);
  }
  EXPECT_EQ(Straighten(Link::kLogistic, {1, 1}, 0, kNan).features, std::vector<double>(2, 0.0));
  EXPECT_EQ(Straighten(Link::kLinear, {1, 1}, 7, 5).features, std::vector<double>(2, 1.0));
  EXPECT_EQ(Straighten(Link::kLinear, {1, 1}, 7, 5).reward, 7);
}

}  // namespace
}  // namespace bandana::testing
