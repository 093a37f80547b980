// Bandit convex optimisation: one claim each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/bandits/bco/convex_policy.h"
#include "tests/support/failing_bits.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> Minus(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

struct Made {
  std::string name;
  std::unique_ptr<ConvexPolicy> policy;
};

std::vector<Made> MakeAll(const ConvexDomain& domain, const ConvexScales& scales) {
  std::vector<Made> all;
  all.push_back({"spherical", *MakeSphericalPolicy(domain, scales)});
  all.push_back({"barrier", *MakeBarrierPolicy(domain, scales)});
  all.push_back({"two-point", *MakeTwoPointPolicy(domain, scales, {})});
  return all;
}

std::vector<ConvexDomain> Domains() {
  std::vector<ConvexDomain> domains;
  for (const auto kind : {ConvexDomain::Kind::kBall, ConvexDomain::Kind::kBox}) {
    for (const int dimension : {1, 2, 7}) {
      domains.push_back({.kind = kind, .dimension = dimension, .radius = 2.5});
    }
  }
  return domains;
}

TEST(ConvexDomainTest, ContainsAndProjects) {
  const ConvexDomain ball{.dimension = 2, .radius = 5};
  EXPECT_TRUE(ball.Contains(std::vector<double>{3, 4}));
  EXPECT_FALSE(ball.Contains(std::vector<double>{3, 4}, 0.99));
  EXPECT_FALSE(ball.Contains(std::vector<double>{3, 4.1}));
  EXPECT_FALSE(ball.Contains(std::vector<double>{kNan, 0}));
  EXPECT_FALSE(ball.Contains(std::vector<double>{0}));
  EXPECT_FALSE(ball.Contains(std::vector<double>{1e200, 0}));
  std::vector<double> x = {6e200, 8e200};
  ball.Project(x);
  EXPECT_NEAR(x[0], 3, 1e-12);
  EXPECT_NEAR(x[1], 4, 1e-12);
  const ConvexDomain box{.kind = ConvexDomain::Kind::kBox, .dimension = 2, .radius = 5};
  EXPECT_TRUE(box.Contains(std::vector<double>{5, -5}));
  x = {9, -1};
  box.Project(x, 0.5);
  EXPECT_EQ(x, (std::vector<double>{2.5, -1}));
}

TEST(ConvexPolicyTest, BadOptionsAreRefused) {
  const ConvexDomain disc{.dimension = 2};
  EXPECT_EQ(MakeSphericalPolicy({.dimension = 0}, {}).status().code(), kInvalid);
  EXPECT_EQ(MakeBarrierPolicy({.dimension = 257}, {}).status().code(), kInvalid);
  EXPECT_EQ(MakeTwoPointPolicy({.dimension = 2, .radius = kNan}, {}, {}).status().code(), kInvalid);
  EXPECT_EQ(MakeTwoPointPolicy({.dimension = 2, .radius = 0}, {}, {}).status().code(), kInvalid);
  for (const double bad : {0.0, -1.0, kNan, 1e300}) {
    EXPECT_EQ(MakeSphericalPolicy(disc, {.lipschitz = bad}).status().code(), kInvalid);
    EXPECT_EQ(MakeBarrierPolicy(disc, {.smoothness = bad}).status().code(), kInvalid);
    EXPECT_EQ(MakeTwoPointPolicy(disc, {.feedback_scale = bad}, {}).status().code(), kInvalid);
  }
  EXPECT_EQ(MakeTwoPointPolicy(disc, {}, {.step_factor = -1}).status().code(), kInvalid);
}

// Whatever the feedback did, points stay inside; hostile feedback included.
TEST(ConvexPolicyTest, PointsLieInTheDomain) {
  for (const ConvexDomain& domain : Domains()) {
    for (const std::uint64_t horizon : {0u, 1u, 1000u}) {
      for (Made& made : MakeAll(domain, {.horizon = horizon})) {
        SCOPED_TRACE(made.name);
        SeededBits bits(4);
        RealSampler sampler(bits);
        TestRng rng(6);
        for (int t = 0; t < 300; ++t) {
          const ConvexPlay play = *made.policy->Play(sampler);
          for (const auto& point : play.points) ASSERT_TRUE(domain.Contains(point));
          ASSERT_TRUE(domain.Contains(made.policy->Center()));
          const double feedback = t % 50 == 0 ? 1e50 * rng.Normal() : 5 * rng.Normal();
          ASSERT_TRUE(made.policy->Apply(play.factor, feedback).ok());
        }
      }
    }
  }
}

TEST(ConvexPolicyTest, BadFeedbackChangesNothing) {
  for (Made& made : MakeAll({.dimension = 2}, {})) {
    SCOPED_TRACE(made.name);
    const ConvexState before = made.policy->state();
    EXPECT_EQ(made.policy->Apply(std::vector<double>{1}, 1).code(), kInvalid);
    EXPECT_EQ(made.policy->Apply(std::vector<double>{1, 2}, kNan).code(), kInvalid);
    EXPECT_EQ(made.policy->Apply(std::vector<double>{1, kNan}, 1).code(), kInvalid);
    EXPECT_EQ(made.policy->Apply(std::vector<double>{1, 1e308}, 1e308).code(), kInvalid);
    EXPECT_EQ(made.policy->Restore({.vector = {1}}).code(), kInvalid);
    EXPECT_EQ(made.policy->Restore({.vector = {kNan, 0}}).code(), kInvalid);
    EXPECT_EQ(made.policy->state(), before);
  }
  // A centre beyond the domain; a barrier's state is a sum of gradients and may be anything.
  EXPECT_EQ((*MakeSphericalPolicy({.dimension = 2}, {}))->Restore({.vector = {3, 0}}).code(),
            kInvalid);
  EXPECT_EQ((*MakeTwoPointPolicy({.dimension = 2}, {}, {}))->Restore({.vector = {3, 0}}).code(),
            kInvalid);
}

TEST(ConvexPolicyTest, TheStateIsAllThereIs) {
  for (const ConvexDomain& domain : Domains()) {
    std::vector<Made> all = MakeAll(domain, {});
    std::vector<Made> copies = MakeAll(domain, {});
    for (std::size_t i = 0; i < all.size(); ++i) {
      SeededBits bits(4);
      RealSampler sampler(bits);
      for (int t = 0; t < 50; ++t) {
        const ConvexPlay play = *all[i].policy->Play(sampler);
        ASSERT_TRUE(all[i].policy->Apply(play.factor, 0.1 * (t % 7)).ok());
      }
      ASSERT_TRUE(copies[i].policy->Restore(all[i].policy->state()).ok()) << all[i].name;
      EXPECT_EQ(copies[i].policy->Center(), all[i].policy->Center());
    }
  }
}

TEST(ConvexPolicyTest, WithoutEntropyThereIsNoPlay) {
  testing::FailingBits bits(0);
  RealSampler sampler(bits);
  for (Made& made : MakeAll({.dimension = 2}, {})) {
    EXPECT_EQ(made.policy->Play(sampler).status().code(), absl::StatusCode::kUnavailable);
  }
}

// For every one-point play with centre y: factor = (d / rho) A^-1 u and x - y = rho A u, so their
// product is d, and E factor (x - y)' = I: linear losses have unbiased gradients.
TEST(ConvexPolicyTest, FactorAndPointBelongTogether) {
  for (const ConvexDomain& domain : Domains()) {
    std::vector<Made> all = MakeAll(domain, {.horizon = 1'000'000});
    for (std::size_t i = 0; i < 2; ++i) {
      SCOPED_TRACE(all[i].name);
      SeededBits bits(8);
      RealSampler sampler(bits);
      for (int t = 0; t < 20; ++t) {
        const ConvexPlay play = *all[i].policy->Play(sampler);
        const auto offset = Minus(play.points[0], all[i].policy->Center());
        EXPECT_NEAR(Dot(play.factor, offset), domain.dimension, 1e-6 * domain.dimension);
        ASSERT_TRUE(all[i].policy->Apply(play.factor, 30 * (t % 5)).ok());
      }
    }
  }
}

// E factor <g, x> = g by averaging over directions: for a linear loss the estimate is the gradient.
// 40,000 plays at a fixed state; each coordinate within 6 standard errors.
TEST(ConvexPolicyTest, LinearLossesHaveUnbiasedGradients) {
  const ConvexDomain domain{.dimension = 3};
  for (Made& made : MakeAll(domain, {.feedback_scale = 0.1, .horizon = 1000})) {
    SCOPED_TRACE(made.name);
    if (made.name == "barrier") {
      ASSERT_TRUE(made.policy->Restore({.vector = {3, -40, 9}, .events = 10}).ok());
    } else {
      ASSERT_TRUE(made.policy->Restore({.vector = {0.1, -0.3, 0.2}, .events = 10}).ok());
    }
    const std::vector<double> g = {0.3, -0.7, 0.2};
    SeededBits bits(12);
    RealSampler sampler(bits);
    std::vector<double> sums(3, 0.0);
    std::vector<double> squares(3, 0.0);
    constexpr int kPlays = 40'000;
    for (int t = 0; t < kPlays; ++t) {
      const ConvexPlay play = *made.policy->Play(sampler);
      // Centred: what a constant adds has mean 0 and only blurs the comparison.
      double feedback = Dot(g, Minus(play.points[0], made.policy->Center()));
      if (play.points.size() == 2) {
        feedback =
            NormalizedDifference(Dot(g, play.points[0]), Dot(g, play.points[1]), 1, play.distance);
      }
      for (int i = 0; i < 3; ++i) {
        const double estimate = play.factor[i] * feedback;
        sums[i] += estimate;
        squares[i] += estimate * estimate;
      }
    }
    for (int i = 0; i < 3; ++i) {
      const double mean = sums[i] / kPlays;
      EXPECT_NEAR(mean, g[i], 6 * std::sqrt((squares[i] / kPlays - mean * mean) / kPlays));
    }
  }
}

double Barrier(const ConvexDomain& domain, const std::vector<double>& y) {
  const double square = domain.radius * domain.radius;
  if (domain.kind == ConvexDomain::Kind::kBall) return -std::log(square - Dot(y, y));
  double sum = 0;
  for (const double value : y) sum -= std::log(square - value * value);
  return sum;
}

// (x - y)' Hessian (x - y) = rho^2 and eta S + gradient = 0, both by differences of the barrier.
TEST(BarrierPolicyTest, PlaysOnTheEllipsoidAboutTheMinimiser) {
  for (const ConvexDomain& domain : Domains()) {
    const double d = domain.dimension;
    const double nu = domain.kind == ConvexDomain::Kind::kBall ? 1 : d;
    constexpr double kHorizon = 1e6;
    const double root = std::sqrt(nu * std::log(kHorizon) / kHorizon);
    const double rho = std::cbrt(2 * d * root / (2 * 2.5 * 2.5));
    const double eta = rho * root / d;
    const auto policy = *MakeBarrierPolicy(domain, {.smoothness = 2, .horizon = 1'000'000});
    TestRng rng(3);
    std::vector<double> sum = rng.UnitVector(domain.dimension);
    for (double& value : sum) value *= 3 / eta / domain.radius;
    ASSERT_TRUE(policy->Restore({.vector = sum, .events = 5}).ok());
    const std::vector<double> y = policy->Center();
    constexpr double kStep = 1e-5;
    for (int i = 0; i < domain.dimension; ++i) {
      std::vector<double> left = y;
      std::vector<double> right = y;
      left[i] -= kStep;
      right[i] += kStep;
      const double gradient = (Barrier(domain, right) - Barrier(domain, left)) / (2 * kStep);
      EXPECT_NEAR(eta * sum[i] + gradient, 0, 1e-5);
    }
    SeededBits bits(2);
    RealSampler sampler(bits);
    const ConvexPlay play = *policy->Play(sampler);
    const std::vector<double> offset = Minus(play.points[0], y);
    constexpr double kSmall = 1e-3;  // of the offset
    std::vector<double> ahead = y;
    std::vector<double> behind = y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      ahead[i] += kSmall * offset[i];
      behind[i] -= kSmall * offset[i];
    }
    const double curvature =
        (Barrier(domain, ahead) - 2 * Barrier(domain, y) + Barrier(domain, behind)) /
        (kSmall * kSmall);
    EXPECT_NEAR(curvature / (rho * rho), 1, 1e-3);
  }
}

// Whoever knows the centre and the distance plays for the policy.
TEST(BarrierPolicyTest, APlayFollowsFromCentreAndDistance) {
  for (const ConvexDomain& domain : Domains()) {
    const auto policy = *MakeBarrierPolicy(domain, {});
    ASSERT_TRUE(policy->Apply(std::vector<double>(domain.dimension, 3.0), 0.5).ok());
    SeededBits bits(8);
    SeededBits same_bits(8);
    RealSampler sampler(bits);
    RealSampler same(same_bits);
    const ConvexPlay play = *policy->Play(sampler);
    const ConvexPlay again = *PlayOnEllipsoid(domain, policy->Center(), policy->Distance(), same);
    EXPECT_EQ(again.points, play.points);
    EXPECT_EQ(again.factor, play.factor);
    EXPECT_GT(policy->Distance(), 0);
    EXPECT_LE(policy->Distance(), 1);
    testing::FailingBits broken(0);
    RealSampler failing(broken);
    EXPECT_EQ(
        PlayOnEllipsoid(domain, policy->Center(), policy->Distance(), failing).status().code(),
        absl::StatusCode::kUnavailable);
  }
}

// Centres pressed against the boundary, after few events and after as many as can be counted.
TEST(BarrierPolicyTest, FactorsAreBounded) {
  SeededBits bits(5);
  RealSampler sampler(bits);
  for (const ConvexDomain& domain : Domains()) {
    for (const std::uint64_t horizon : {std::uint64_t{0}, std::uint64_t{50}, ~std::uint64_t{0}}) {
      const ConvexScales scales{.smoothness = 40, .feedback_scale = 0.01, .horizon = horizon};
      const double bound = BarrierFactorMax(domain, scales);
      const auto policy = *MakeBarrierPolicy(domain, scales);
      double largest = 0;
      for (const double size : {0.0, 1.0, -1e90}) {
        for (const std::uint64_t events : {std::uint64_t{0}, ~std::uint64_t{0} - 1}) {
          std::vector<double> sum(domain.dimension, 0.0);
          sum[0] = size;
          ASSERT_TRUE(policy->Restore({.vector = sum, .events = events}).ok());
          for (int i = 0; i < 50; ++i) {
            const ConvexPlay play = *policy->Play(sampler);
            for (const double entry : play.factor) largest = std::max(largest, std::abs(entry));
          }
        }
      }
      EXPECT_LE(largest, bound);
      EXPECT_GE(largest, bound / 100);  // and no further off than the widths say
    }
  }
}

TEST(TwoPointPolicyTest, TheDifferenceIsBoundedByTheLipschitzConstant) {
  EXPECT_EQ(NormalizedDifference(3, 1, 2, 1), 1);
  EXPECT_EQ(NormalizedDifference(1, 3, 2, 1), -1);
  EXPECT_EQ(NormalizedDifference(1, 3, 2, 0), 0);
  EXPECT_TRUE(std::isnan(NormalizedDifference(kNan, 3, 2, 1)));
  const auto policy = *MakeTwoPointPolicy({.dimension = 4}, {.horizon = 10'000}, {});
  SeededBits bits(2);
  RealSampler sampler(bits);
  const ConvexPlay play = *policy->Play(sampler);
  ASSERT_EQ(play.points.size(), 2u);
  const auto difference = Minus(play.points[0], play.points[1]);
  EXPECT_NEAR(std::sqrt(Dot(difference, difference)), play.distance, 1e-15);
  EXPECT_NEAR(play.distance, 2 * std::log(10'000.0) / 10'000, 1e-15);
}

// |x - x*| / 2 with exact feedback: the mean loss over 20,000 rounds. All three start at 0.25.
TEST(ConvexPolicyTest, AllApproachTheMinimum) {
  const std::vector<double> minimiser = {0.3, -0.4};
  const auto loss = [&](const std::vector<double>& x) {
    const auto offset = Minus(x, minimiser);
    return std::sqrt(Dot(offset, offset)) / 2;
  };
  for (Made& made :
       MakeAll({.dimension = 2},
               {.lipschitz = 0.5, .feedback_middle = 0, .feedback_scale = 1, .horizon = 20'000})) {
    SCOPED_TRACE(made.name);
    SeededBits bits(21);
    RealSampler sampler(bits);
    double last = 0;
    for (int t = 0; t < 20'000; ++t) {
      const ConvexPlay play = *made.policy->Play(sampler);
      double feedback = loss(play.points[0]);
      if (play.points.size() == 2) {
        feedback = NormalizedDifference(feedback, loss(play.points[1]), 0.5, play.distance);
      }
      ASSERT_TRUE(made.policy->Apply(play.factor, feedback).ok());
      if (t >= 15'000) last += loss(made.policy->Center()) / 5'000;
    }
    EXPECT_LT(last, made.name == "two-point" ? 0.02 : 0.12);
  }
}

}  // namespace
}  // namespace bandana::testing
