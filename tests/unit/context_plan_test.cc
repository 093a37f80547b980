#include "common/design/planner/context_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

// d = 5, |theta| = 1, rewards in [-1, 1], T = 100,000.
ContextPlanRequest Setting(double epsilon, double delta) {
  return {.dimension = 5,
          .reward_stddev = 0.05,
          .prior_stddev = std::sqrt(0.2),
          .reports = 100'000,
          .epsilon = {epsilon},
          .delta = {delta}};
}

const ContextCandidate& Of(const ContextPlan& plan, ContextMechanismKind kind) {
  return plan.candidates[0].kind == kind ? plan.candidates[0] : plan.candidates[1];
}

TEST(ContextPlan, TakesPrivunitUnlessDeltaIsGenerous) {
  for (const double epsilon : {0.5, 1.0, 2.0, 5.0, 10.0}) {
    const auto plan = MakeContextPlan(Setting(epsilon, 1e-5));
    ASSERT_THAT(plan, IsOk());
    EXPECT_EQ(plan->best().kind, ContextMechanismKind::kPrivUnit) << epsilon;
  }
  const auto generous = MakeContextPlan(Setting(0.2, 0.2));
  ASSERT_THAT(generous, IsOk());
  EXPECT_EQ(generous->best().kind, ContextMechanismKind::kGaussian);
}

TEST(ContextPlan, WithoutDeltaOnlyThePureMechanismIsLeft) {
  const auto plan = MakeContextPlan(Setting(1, 0));
  ASSERT_THAT(plan, IsOk());
  EXPECT_TRUE(plan->best().pure);
  EXPECT_THAT(plan->candidates[1].excluded, HasSubstr("delta is 0"));
  EXPECT_THAT(ExplainContextPlan(*plan), HasSubstr("* privunit"));
}

// sigma = 1.5 sqrt(2) / mu and the table of docs/privacy/joint_gaussian.md: 7.914 at eps 1.
TEST(ContextPlan, VariancesAreTheMechanisms) {
  const auto plan = MakeContextPlan(Setting(1, 1e-5));
  ASSERT_THAT(plan, IsOk());
  EXPECT_NEAR(std::sqrt(Of(*plan, ContextMechanismKind::kGaussian).variance.moment), 7.914, 0.001);
  // Isotropic: 815.7 of energy over 65 entries at d = 10.
  ContextPlanRequest ten = Setting(1, 1e-5);
  ten.dimension = 10;
  const auto wide = MakeContextPlan(ten);
  ASSERT_THAT(wide, IsOk());
  EXPECT_NEAR(Of(*wide, ContextMechanismKind::kPrivUnit).variance.moment, 815.7 / 65, 0.01);
}

TEST(ContextPlan, VariancesFollowTheScales) {
  ContextPlanRequest scaled = Setting(2, 1e-5);
  scaled.context_l2_max = 3;
  scaled.reward_abs_max = 0.5;
  const auto plan = MakeContextPlan(scaled);
  const auto unit = MakeContextPlan(Setting(2, 1e-5));
  ASSERT_THAT(plan, IsOk());
  for (const auto kind : {ContextMechanismKind::kPrivUnit, ContextMechanismKind::kGaussian}) {
    const ReportVariance one = Of(*unit, kind).variance;
    EXPECT_NEAR(Of(*plan, kind).variance.gram / one.gram, 81, 1e-3);
    EXPECT_NEAR(Of(*plan, kind).variance.moment / one.moment, 9 * 0.25, 1e-4);
  }
}

// The closed form against the midpoint rule over t.
TEST(ContextPlan, PredictionIsTheMeanOverTime) {
  for (const double epsilon : {0.01, 0.5, 2.0, 10.0}) {
    const ContextPlanRequest request = Setting(epsilon, 0);
    const auto plan = MakeContextPlan(request);
    ASSERT_THAT(plan, IsOk());
    const ReportVariance v = plan->best().variance;
    const double gram = 1.0 / 5;
    const double rate = 0.2 * gram * gram / (0.05 * 0.05 * gram + v.moment + v.gram) * 100'000;
    double sum = 0;
    constexpr int kSteps = 1'000'000;
    for (int i = 0; i < kSteps; ++i) {
      const double u = rate * (i + 0.5) / kSteps;
      sum += 1 - std::sqrt(u / (1 + u));
    }
    EXPECT_NEAR(plan->best().predicted, sum / kSteps, 1e-5) << epsilon;
  }
}

TEST(ContextPlan, LargerEpsilonOrMoreReportsNeverPredictMore) {
  double last = 1;
  for (const double epsilon : {1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0}) {
    const auto plan = MakeContextPlan(Setting(epsilon, 1e-5));
    ASSERT_THAT(plan, IsOk()) << epsilon;
    EXPECT_LE(plan->best().predicted, last);
    EXPECT_GE(plan->best().predicted, 0);
    last = plan->best().predicted;
  }
  ContextPlanRequest longer = Setting(1, 1e-5);
  longer.reports = 1'000'000;
  EXPECT_LT(MakeContextPlan(longer)->best().predicted,
            MakeContextPlan(Setting(1, 1e-5))->best().predicted);
}

TEST(ContextPlan, RefusesBadRequests) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    std::string field;
    void (*spoil)(ContextPlanRequest&);
  } kRows[] = {
      {"dimension", [](ContextPlanRequest& r) { r.dimension = 0; }},
      {"context_l2_max", [](ContextPlanRequest& r) { r.context_l2_max = 0; }},
      {"reward_abs_max", [](ContextPlanRequest& r) { r.reward_abs_max = -1; }},
      {"theta_l2_max", [](ContextPlanRequest& r) { r.theta_l2_max = 1e7; }},
      {"reward_stddev", [](ContextPlanRequest& r) { r.reward_stddev = 0; }},
      {"prior_stddev", [](ContextPlanRequest& r) { r.prior_stddev = 0; }},
      {"reports", [](ContextPlanRequest& r) { r.reports = 0; }},
      {"epsilon", [](ContextPlanRequest& r) { r.epsilon = {0}; }},
      {"delta", [](ContextPlanRequest& r) { r.delta = {1}; }},
  };
  for (const auto& row : kRows) {
    ContextPlanRequest request = Setting(1, 1e-5);
    row.spoil(request);
    const auto plan = MakeContextPlan(request);
    EXPECT_THAT(plan, StatusIs(absl::StatusCode::kInvalidArgument)) << row.field;
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr(row.field));
  }
  ContextPlanRequest request = Setting(nan, 1e-5);
  EXPECT_THAT(MakeContextPlan(request), StatusIs(absl::StatusCode::kInvalidArgument));
  request = Setting(1, nan);
  EXPECT_THAT(MakeContextPlan(request), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace bandana::testing
