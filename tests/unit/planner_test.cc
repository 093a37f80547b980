#include "common/design/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "common/mechanisms/reward_randomizer.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

PlanRequest OneUser(double epsilon, std::uint64_t events) {
  PlanRequest request;
  request.dimension = 10;
  request.rewards = {-1, 1};
  request.reward_stddev = 0.05;
  request.prior_stddev = std::sqrt(0.1);
  request.events_per_node = events;
  request.epsilon = {epsilon};
  request.delta = {1e-5};
  return request;
}

Coupling EvenInfluence(int users) {
  Graph graph;
  graph.kind = Graph::Kind::kInfluence;
  graph.nodes = users;
  for (int i = 0; i < users; ++i) {
    for (int j = 0; j < users; ++j) graph.entries.push_back({i, j, 1.0 / users});
  }
  return Coupling::CoLin(graph, 10).value();
}

const PlanCandidate& Of(const Plan& plan, const std::string& name_part) {
  const auto found = std::find_if(
      plan.candidates.begin(), plan.candidates.end(),
      [&](const PlanCandidate& c) { return c.name.find(name_part) != std::string::npos; });
  EXPECT_NE(found, plan.candidates.end()) << name_part;
  return *found;
}

// Without windows, which a central server does not give.
PlanRequest Central(PlanRequest request) {
  request.mode = Mode::kCentralReward;
  return request;
}

// The noise of t randomized rewards grows as t, that of a counter as a logarithm squared.
TEST(Planner, RandomizesShortStreamsAndCountsLongOnes) {
  for (const double epsilon : {0.5, 1.0, 2.0}) {
    const Plan brief = MakePlan(Central(OneUser(epsilon, 300))).value();
    const Plan lasting = MakePlan(Central(OneUser(epsilon, 1'000'000))).value();
    EXPECT_EQ(brief.best().mechanism, MechanismId::kRewardRandomizer);
    EXPECT_EQ(lasting.best().mechanism, MechanismId::kCounter);
  }
}

// Measured (counter-crossing, d = 10, epsilon 1): the randomizer wins at 3000 events, the counter
// at 10,000.
TEST(Planner, CrossesWhereTheExperimentDoes) {
  EXPECT_EQ(MakePlan(Central(OneUser(1, 3'000))).value().best().mechanism,
            MechanismId::kRewardRandomizer);
  EXPECT_EQ(MakePlan(Central(OneUser(1, 10'000))).value().best().mechanism, MechanismId::kCounter);
}

// The noise of a window shrinks with what is left to learn: less than both, however long.
TEST(Planner, CentresWhatTheDeviceRandomizes) {
  for (const std::uint64_t events : {300u, 10'000u, 1'000'000u}) {
    const Plan plan = MakePlan(OneUser(1, events)).value();
    EXPECT_EQ(plan.best().mechanism, MechanismId::kCentredRandomizer);
    EXPECT_TRUE(plan.best().pure);
    EXPECT_LT(plan.best().noise, 0.2 * Of(plan, "randomizer (hybrid)").noise);
  }
  // Rewards that nothing predicts leave it no advantage: the window is the range.
  PlanRequest noisy = OneUser(1, 10'000);
  noisy.reward_stddev = 10;
  EXPECT_NEAR(Of(MakePlan(noisy).value(), "centred").predicted,
              Of(MakePlan(noisy).value(), "randomizer (hybrid)").predicted, 1e-3);
}

// rho_t = 1 / (1 + a t) with a = tau^2 L^2 / (d (sigma^2 + v_r)), one user: the mean over t of 1 -
// sqrt(a t / (1 + a t)) is 1 - (sqrt(z (1 + z)) - asinh(sqrt z)) / z at z = a T.
TEST(Planner, PredictsTheRandomizersIntegral) {
  for (const std::uint64_t events : {100u, 10'000u, 1'000'000u}) {
    const PlanRequest request = OneUser(1, events);
    const auto randomizer =
        RewardRandomizer::Create({request.epsilon, request.rewards, false}).value();
    const double variance = 0.05 * 0.05 + randomizer.VarianceMax();
    const double z = 0.1 / 10 / variance * static_cast<double>(events);
    const double exact = 1 - (std::sqrt(z * (1 + z)) - std::asinh(std::sqrt(z))) / z;
    const Plan plan = MakePlan(request).value();
    EXPECT_NEAR(Of(plan, "randomizer (hybrid)").predicted, exact, 0.02 * exact) << events;
  }
}

TEST(Planner, PredictsLessRegretForMoreEpsilonMoreEventsAndMoreCoupling) {
  for (const char* name : {"randomizer (", "centred", "blt", "epochs", "tree"}) {
    double last = 1;
    for (const double epsilon : {0.1, 0.5, 1.0, 3.0, 10.0}) {
      const double predicted = Of(MakePlan(OneUser(epsilon, 5'000)).value(), name).predicted;
      EXPECT_LT(predicted, last) << name << " at epsilon " << epsilon;
      last = predicted;
    }
    last = 1;
    for (const std::uint64_t events : {100u, 1'000u, 10'000u, 100'000u}) {
      const double predicted = Of(MakePlan(OneUser(1, events)).value(), name).predicted;
      EXPECT_LT(predicted, last) << name << " after " << events;
      last = predicted;
    }
    PlanRequest alike = OneUser(1, 1'000);
    alike.coupling = EvenInfluence(10);
    alike.prior_stddev = 1;
    PlanRequest apart = alike;
    apart.coupling.reset();
    apart.prior_stddev = std::sqrt(0.1);  // P = 11' / 10 gives each of the ten this variance
    EXPECT_LT(Of(MakePlan(alike).value(), name).predicted,
              Of(MakePlan(apart).value(), name).predicted)
        << name;
  }
}

TEST(Planner, BinaryRewardsAreRandomizedByOneBit) {
  PlanRequest request = OneUser(2, 100);
  request.rewards_binary = true;
  EXPECT_THAT(MakePlan(request).value().best().name, HasSubstr("one bit"));
}

// Ten users who are one share one counter; ten strangers gain nothing from sharing.
TEST(Planner, ShapesCentralNoiseAcrossUsersWhoAreAlike) {
  PlanRequest request = OneUser(0.5, 2'000);
  request.mode = Mode::kCentralReward;
  request.coupling = EvenInfluence(10);
  request.prior_stddev = 1;
  const Plan alike = MakePlan(request).value();
  EXPECT_EQ(alike.best().mechanism, MechanismId::kShapedCounter);
  EXPECT_LT(Of(alike, "shaped").predicted, 0.8 * Of(alike, "counter (blt)").predicted);
  request.mode = Mode::kLocalReward;
  const Plan local = MakePlan(request).value();
  for (const PlanCandidate& candidate : local.candidates)
    EXPECT_NE(candidate.mechanism, MechanismId::kShapedCounter);
}

TEST(Planner, WithoutDeltaOnlyPureMechanismsAreLeft) {
  PlanRequest request = OneUser(1, 1'000'000);
  request.delta = {0};
  const Plan plan = MakePlan(request).value();
  EXPECT_TRUE(plan.best().pure);
  for (const PlanCandidate& candidate : plan.candidates) {
    EXPECT_EQ(candidate.excluded.empty(), candidate.pure) << candidate.name;
  }
  EXPECT_THAT(ExplainPlan(plan), HasSubstr("cannot be used: a counter's noise is Gaussian"));
  EXPECT_THAT(CounterOptionsFor(request, CounterKind::kBlt),
              StatusIs(absl::StatusCode::kFailedPrecondition, "delta > 0"));
}

TEST(Planner, ExplainsEveryCandidateAndMarksTheChoice) {
  const Plan plan = MakePlan(OneUser(1, 100)).value();
  const std::string text = ExplainPlan(plan);
  EXPECT_EQ(plan.candidates.size(), 6u);
  for (const PlanCandidate& candidate : plan.candidates)
    EXPECT_THAT(text, HasSubstr(candidate.name));
  EXPECT_THAT(text, HasSubstr("\n* " + plan.best().name));
  EXPECT_TRUE(std::is_sorted(
      plan.candidates.begin(), plan.candidates.end(),
      [](const PlanCandidate& a, const PlanCandidate& b) { return a.predicted < b.predicted; }));
}

TEST(Planner, CountersCostTheBudgetAndEndAtTheHorizon) {
  const PlanRequest request = OneUser(1, 1'000);
  for (const CounterKind kind : kCounterKinds) {
    const CounterOptions options = CounterOptionsFor(request, kind).value();
    const CounterDesign design = CounterDesign::Create(options).value();
    EXPECT_LE(design.step_cap(), 1'000u) << CounterKindName(kind);
    EXPECT_LE(design.cost().value, options.rho.value * (1 + 1e-9)) << CounterKindName(kind);
    EXPECT_EQ(options.norm_bound, 1);
  }
}

TEST(Planner, RefusesBadRequests) {
  struct Bad {
    const char* message;
    void (*spoil)(PlanRequest&);
  };
  const Bad bad[] = {
      {"dimension must be in", [](PlanRequest& r) { r.dimension = 0; }},
      {"feature_l2_max must be in", [](PlanRequest& r) { r.feature_l2_max = -1; }},
      {"reward_stddev must be in", [](PlanRequest& r) { r.reward_stddev = std::nan(""); }},
      {"prior_stddev must be in", [](PlanRequest& r) { r.prior_stddev = 0; }},
      {"events_per_node must be in", [](PlanRequest& r) { r.events_per_node = 0; }},
      {"epsilon must be in", [](PlanRequest& r) { r.epsilon = {0}; }},
      {"epsilon must be in", [](PlanRequest& r) { r.epsilon = {std::nan("")}; }},
      {"epsilon must be in",
       [](PlanRequest& r) { r.epsilon = {std::numeric_limits<double>::infinity()}; }},
      {"delta must be in", [](PlanRequest& r) { r.delta = {1}; }},
      {"reward range",
       [](PlanRequest& r) {
         r.rewards = {1, 1};
       }},
  };
  for (const Bad& b : bad) {
    PlanRequest request = OneUser(1, 100);
    b.spoil(request);
    EXPECT_THAT(MakePlan(request), StatusIs(absl::StatusCode::kInvalidArgument, b.message));
  }
}

}  // namespace
}  // namespace bandana::testing
