// The experiments of [Z20] without contexts, in small.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "research/lab/neurips20/arm_sequence.h"
#include "research/lab/neurips20/mab_channel.h"
#include "research/lab/neurips20/mab_suite.h"
#include "tools/environments/convex_losses.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Cell CellOf(const std::string& environment, const std::string& algorithm, const std::string& label,
            std::uint64_t horizon) {
  Cell cell{.algorithm = algorithm, .label = label, .environment = environment};
  if (label != "non-private" && label != "random") {
    cell.epsilon = 2;
    cell.delta = 1e-5;
  }
  cell.horizon = horizon;
  cell.seed = 3;
  return cell;
}

CellResult RunOf(const Cell& cell) {
  const auto result = RunContextFree(cell);
  EXPECT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok()) << result->status();
  return result->value_or(CellResult{});
}

TEST(Neurips20MabTest, EveryContenderRunsUnderEveryLabelAndTheSameTwice) {
  for (const Contender& contender : ContextFreeContenders()) {
    for (const Label& label : contender.labels) {
      const std::string algorithm(contender.name);
      SCOPED_TRACE(algorithm + " " + std::string(label.name));
      const std::string environment = algorithm == "ldp-bai"             ? "best-arm"
                                      : algorithm.starts_with("ldp-mab") ? "arms"
                                                                         : "convex";
      const Cell cell = CellOf(environment, algorithm, std::string(label.name), 400);
      const CellResult first = RunOf(cell);
      const CellResult second = RunOf(cell);
      EXPECT_EQ(first.regret, second.regret);
      EXPECT_FALSE(first.curve.empty());
      EXPECT_EQ(first.curve.back().regret, first.regret);
      EXPECT_GE(first.regret, 0);
    }
  }
  EXPECT_FALSE(RunContextFree(CellOf("contexts", "linucb", "non-private", 10)).has_value());
}

TEST(Neurips20MabTest, LearnersBeatRandomChoice) {
  Cell cell = CellOf("arms", "ldp-mab", "auto", 20'000);
  cell.settings["gap"] = "0.4";
  const CellResult arms = RunOf(cell);
  EXPECT_LT(arms.regret, 0.2 * arms.random_regret);
  const double random = RunOf(CellOf("convex", "random", "random", 20'000)).regret;
  EXPECT_LT(RunOf(CellOf("convex", "ldp-bco-two-point", "auto", 20'000)).regret, 0.1 * random);
  const CellResult best = RunOf(CellOf("best-arm", "ldp-bai", "auto", 1'000'000));
  EXPECT_EQ(best.measures.at("correct"), 1);
  EXPECT_LT(best.measures.at("stopping_time"), 1'000'000);
}

TEST(Neurips20MabTest, BadSettingsAreRefused) {
  const auto status_of = [](std::string environment, std::string algorithm, std::string key,
                            std::string value) {
    Cell cell = CellOf(environment, algorithm, "auto", 10);
    cell.settings[key] = value;
    return RunContextFree(cell)->status().code();
  };
  EXPECT_EQ(status_of("arms", "ldp-mab", "gap", "2"), kInvalid);
  EXPECT_EQ(status_of("arms", "ldp-mab", "gap", "nan"), kInvalid);
  EXPECT_EQ(status_of("arms", "ldp-mab", "law", "kind"), kInvalid);
  EXPECT_EQ(status_of("arms", "ldp-mab", "arms", "0"), kInvalid);
  EXPECT_EQ(status_of("arms", "ldp-mab", "loss", "cone"), kInvalid);
  EXPECT_EQ(status_of("best-arm", "ldp-bai", "nu", "0"), kInvalid);
  EXPECT_EQ(status_of("best-arm", "ldp-bai", "variant", "other"), kInvalid);
  EXPECT_EQ(status_of("convex", "ldp-bco", "domain", "cube"), kInvalid);
  EXPECT_EQ(status_of("convex", "ldp-bco", "loss", "flat"), kInvalid);
}

// At eps 1, delta 1e-5, width 2: 2 sqrt(2 ln(1.25e5)) = 9.69, 2 * 3.7306; randomized response's
// second moment about the middle is c^2, c = (e + 1) / (e - 1) = 2.164.
TEST(NumberChannelTest, ScalesAreTheMechanisms) {
  const auto make = [](std::string_view label) {
    return *NumberChannel::Create(
        {.label = label, .epsilon = {1}, .delta = {1e-5}, .range = {-1, 1}, .binary = true});
  };
  EXPECT_NEAR(std::sqrt(make("published").variance()), 9.690, 1e-3);
  EXPECT_NEAR(std::sqrt(make("proven").variance()), 7.461, 1e-3);
  EXPECT_NEAR(make("auto").scale(), 2.164, 1e-3);
  EXPECT_NEAR(make("auto").variance_proxy(), 2.164 * 2.164, 1e-2);
  EXPECT_EQ(make("non-private").scale(), 1);
  EXPECT_EQ(NumberChannel::Create({.label = "best"}).status().code(), kInvalid);
}

TEST(ArmSequenceTest, TheGapIsTheSameInEveryRound) {
  for (const ArmLaw law : {ArmLaw::kStochastic, ArmLaw::kAdversarial}) {
    const ArmSequence world = *ArmSequence::Create({.law = law, .arms = 5, .gap = 0.25, .seed = 7});
    double lowest = 1;
    double highest = 0;
    for (std::uint64_t t = 0; t < 1000; ++t) {
      for (int arm = 0; arm < 5; ++arm) {
        const double behind = world.Mean(t, world.best()) - world.Mean(t, arm);
        EXPECT_DOUBLE_EQ(behind, arm == world.best() ? 0 : 0.25);
        lowest = std::min(lowest, world.Mean(t, arm));
        highest = std::max(highest, world.Mean(t, arm));
        const double reward = world.Reward(t, arm);
        EXPECT_TRUE(reward == 0 || reward == 1);
      }
    }
    EXPECT_EQ(lowest, law == ArmLaw::kAdversarial ? 0 : 0.375);
    EXPECT_EQ(highest, law == ArmLaw::kAdversarial ? 1 : 0.625);
  }
  EXPECT_EQ(ArmSequence::Create({.arms = 0}).status().code(), kInvalid);
  EXPECT_EQ(ArmSequence::Create({.gap = std::nan("")}).status().code(), kInvalid);
}

TEST(ConvexLossesTest, BoundsHold) {
  for (const LossShape shape : {LossShape::kCone, LossShape::kQuadratic}) {
    const ConvexLosses losses =
        *ConvexLosses::Create({.shape = shape, .dimension = 3, .outer_radius = 2, .seed = 5});
    EXPECT_EQ(losses.Expected(losses.minimiser()), 0);
    SeededStream stream(1, StreamPurpose::kArm, 0);
    for (int t = 0; t < 2000; ++t) {
      std::vector<double> x(3), y(3);
      double norm = 0;
      double other = 0;
      for (int i = 0; i < 3; ++i) {
        x[i] = stream.Normal();
        y[i] = stream.Normal();
        norm = std::hypot(norm, x[i]);
        other = std::hypot(other, y[i]);
      }
      double distance = 0;
      for (int i = 0; i < 3; ++i) {
        x[i] *= 2 / norm;
        y[i] *= 2 / other;
        distance = std::hypot(distance, x[i] - y[i]);
      }
      EXPECT_GE(losses.Value(t, x), losses.value_min());
      EXPECT_LE(losses.Value(t, x), losses.value_max());
      EXPECT_LE(std::abs(losses.Value(t, x) - losses.Value(t, y)),
                losses.lipschitz() * distance + 1e-12);
    }
  }
  EXPECT_EQ(ConvexLosses::Create({.dimension = 0}).status().code(), kInvalid);
  EXPECT_EQ(ConvexLosses::Create({.outer_radius = std::nan("")}).status().code(), kInvalid);
}

}  // namespace
}  // namespace bandana::lab
