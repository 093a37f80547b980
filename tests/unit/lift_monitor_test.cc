// The monitor of a served policy: which decisions count, when, and what they come to.
#include "common/judging/lift_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "common/judging/lift_forecast.h"
#include "common/judging/row.h"
#include "common/judging/simple_policies.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr int kArms = 5;
constexpr double kShare = 0.2;
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
constexpr absl::Duration kLife = absl::Hours(24);

StoredId IdOf(std::uint64_t number) {
  StoredId id{};
  std::memcpy(id.data(), &number, sizeof number);
  id[15] = std::byte{1};
  return id;
}

// Decisions a second apart, of arms that the policy knows: 0 is the best, and uniform_mix 0.2
// draws.
struct World {
  SegmentHeader facts{.range = {0, 1}, .reported_within = kLife};
  TestRng random{17};
  std::array<double, kArms> means = {0.5, 0.3, 0.2, 0.2, 0.1};
  bool exact = false;       // predictions are the means
  double claimed = kShare;  // of the law that the lines have
  std::uint64_t next = 0;

  static double LawOf(double share, int arm) { return share / kArms + (arm == 0 ? 1 - share : 0); }
  double Uniform() { return random.Uniform(); }
  StoredDecision Next() {
    StoredDecision decision{.time = kStart + absl::Seconds(static_cast<double>(next)),
                            .offered = kArms};
    StoredSlot slot{.id = IdOf(next++)};
    double left = Uniform();
    for (int arm = 0; arm < kArms; ++arm) {
      decision.ids.push_back(static_cast<std::uint32_t>(100 + (arm + 2) % kArms));
      decision.q.push_back(static_cast<float>(exact ? means[arm] : means[arm] / 2 + 0.1));
      slot.law.push_back(LawOf(claimed, arm));
      left -= LawOf(kShare, arm);
      if (left > 0) slot.chosen = static_cast<std::uint32_t>(std::min(arm + 1, kArms - 1));
    }
    decision.slots.push_back(slot);
    return decision;
  }
  RewardRow RewardOf(const StoredDecision& decision) {
    const double raw = Uniform() < means[decision.slots[0].chosen] ? 1 : 0;
    double value = raw;
    if (facts.epsilon > 0) {
      const double kept = 1 / (1 + std::exp(-facts.epsilon));
      value = (Uniform() < kept) == (raw > 0) ? facts.high : facts.low;
    }
    return {.decision = decision.slots[0].id, .value = value, .sequence = next};
  }
  // The worth of the policy, then how far it is above uniform and above the first arm.
  std::array<double, 3> Truth() const {
    double value = 0;
    for (int arm = 0; arm < kArms; ++arm) value += LawOf(kShare, arm) * means[arm];
    const double uniform = std::accumulate(means.begin(), means.end(), 0.0) / kArms;
    return {value, value - uniform, value - means[0]};
  }
};

World Released(double epsilon) {
  World world;
  world.facts.epsilon = epsilon;
  world.facts.low = -1 / std::expm1(epsilon);
  world.facts.high = 1 - world.facts.low;
  return world;
}

void Feed(World& world, int decisions, LiftMonitor& monitor) {
  for (int i = 0; i < decisions; ++i) {
    const StoredDecision decision = world.Next();
    const RewardRow row = world.RewardOf(decision);
    monitor.Add(LiftMonitor::Prepare(decision));
    monitor.Rewarded({&row, 1});
    monitor.Close(decision.time);
  }
}

TEST(LiftMonitorTest, SaysNothingWhileItChoosesItsForm) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  Feed(world, 500, monitor);
  LiftReport report = monitor.Report();
  EXPECT_EQ(report.first, 500u);
  EXPECT_EQ(report.judged, 0u);
  for (const LiftValue& value : report.values) EXPECT_FALSE(value.value || value.low || value.high);
  EXPECT_FALSE(report.needed);
  Feed(world, 1, monitor);
  EXPECT_EQ(monitor.Report().judged, 1u);
}

// 400 worlds would be wrong in 2 % at most; these seeds are not.
TEST(LiftMonitorTest, IntervalsHoldWhatIsTrue) {
  for (World world : {World(), Released(2), Released(1)}) {
    LiftMonitor monitor(world.facts, 0);
    Feed(world, 6000, monitor);
    const LiftReport report = monitor.Report();
    ASSERT_EQ(report.values.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      const LiftValue& value = report.values[i];
      EXPECT_EQ(value.against, (std::array{"", "uniform", "first"}[i]));
      EXPECT_LE(*value.low, world.Truth()[i]) << i << " at epsilon " << world.facts.epsilon;
      EXPECT_GE(*value.high, world.Truth()[i]) << i << " at epsilon " << world.facts.epsilon;
      EXPECT_LT(*value.low, *value.value);
      EXPECT_GT(*value.high, *value.value);
    }
  }
}

// A judge of the same lines, by its own way.
TEST(LiftMonitorTest, IsTheJudgeOfTheLinesThatClosed) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeLoggingPolicy());
  policies.push_back(MakeUniformPolicy());
  Judge judge({.range = {0, 1}, .used = LiftMonitor::kPlanned, .alpha = 0.05 / 3},
              std::move(policies), {{0, 1}});
  for (int i = 0; i < 900; ++i) {
    const StoredDecision decision = world.Next();
    const RewardRow row = world.RewardOf(decision);
    monitor.Add(LiftMonitor::Prepare(decision));
    monitor.Rewarded({&row, 1});
    LoggedSlot slot{.offered = kArms,
                    .ids = decision.ids,
                    .p = decision.slots[0].law,
                    .chosen_p = decision.slots[0].law[decision.slots[0].chosen],
                    .chosen = decision.slots[0].chosen,
                    .state = RewardState::kKnown,
                    .reward = row.value};
    // A line has the shortest decimal of a prediction, and these have few digits.
    for (const float q : decision.q) slot.q.push_back(std::round(q * 1e6) / 1e6);
    judge.Add({.id = "d", .range = {0, 1}, .slots = {slot}});
  }
  monitor.Close(kStart);
  const JudgementRow row = MakeRow(judge, 0, {.alpha = 0.05 / 3});
  const LiftValue value = monitor.Report().values[1];
  EXPECT_DOUBLE_EQ(*value.value, *row.value);
  EXPECT_NEAR(*value.low, *row.low, 1e-12);  // 0.05 / 3 and (1 - 0.95) / 3
  EXPECT_NEAR(*value.high, *row.high, 1e-12);
}

// Rewards come in any order, and one that is late holds up the later ones.
TEST(LiftMonitorTest, DecisionsCountInTheirOrder) {
  World one;
  World other;
  LiftMonitor in_order(one.facts, 0);
  LiftMonitor shuffled(other.facts, 0);
  Feed(one, 1000, in_order);
  std::vector<RewardRow> rows;
  for (int i = 0; i < 1000; ++i) {
    const StoredDecision decision = other.Next();
    rows.push_back(other.RewardOf(decision));
    shuffled.Add(LiftMonitor::Prepare(decision));
  }
  const RewardRow late = rows[0];
  rows.erase(rows.begin());
  for (std::size_t i = rows.size(); i > 1; --i) {
    std::swap(rows[i - 1],
              rows[static_cast<std::size_t>(other.Uniform() * static_cast<double>(i))]);
  }
  for (const RewardRow& row : rows) {
    shuffled.Rewarded({&row, 1});
    shuffled.Close(kStart + absl::Hours(1));
  }
  EXPECT_EQ(shuffled.Report().waiting, 1000u);
  EXPECT_EQ(shuffled.Report().first, 0u);
  shuffled.Rewarded({&late, 1});
  shuffled.Rewarded({&late, 1});  // a repeat changes nothing
  shuffled.Close(kStart + absl::Hours(1));
  EXPECT_EQ(shuffled.Report().waiting, 0u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(shuffled.Report().values[i].value, in_order.Report().values[i].value);
    EXPECT_EQ(shuffled.Report().values[i].low, in_order.Report().values[i].low);
  }
}

// Only clicks are reported, at once. Those that did not click count as old as they may get, as the
// default.
TEST(LiftMonitorTest, EarlyReportsAreNoMoreLikelyToCount) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  double sum = 0;
  for (int i = 0; i < 3000; ++i) {
    const StoredDecision decision = world.Next();
    const RewardRow row = world.RewardOf(decision);
    monitor.Add(LiftMonitor::Prepare(decision));
    if (i >= 500) sum += row.value;
    if (row.value > 0) monitor.Rewarded({&row, 1});
    monitor.Close(decision.time);
  }
  const LiftReport open = monitor.Report();
  EXPECT_LT(open.first, 20u);  // up to the first that did not click
  monitor.Close(kStart + kLife + absl::Seconds(1999));
  EXPECT_GE(monitor.Report().judged, 1500u);
  EXPECT_LT(monitor.Report().judged, 1520u);
  monitor.Close(kStart + kLife + absl::Seconds(2999));
  EXPECT_EQ(monitor.Report().judged, 2500u);
  const LiftValue value = monitor.Report().values[0];
  // The plain mean, but for predictions of the drawn arms: their mean is 0 less that of the law.
  EXPECT_NEAR(*value.value, sum / 2500, 0.005);
  EXPECT_LT(*value.low, world.Truth()[0]);
  EXPECT_GT(*value.high, world.Truth()[0]);
}

TEST(LiftMonitorTest, UnreportedOnesHaveTheModelsDefault) {
  World world;
  LiftMonitor monitor(world.facts, 0.25);
  for (int i = 0; i < 600; ++i) monitor.Add(LiftMonitor::Prepare(world.Next()));
  monitor.Close(kStart + 2 * kLife);
  EXPECT_NEAR(*monitor.Report().values[0].value, 0.25, 0.01);
}

TEST(LiftMonitorTest, LeavesOutWhatTheLawDoesNotTellOf) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  StoredDecision baseline = world.Next();
  baseline.baseline = true;
  StoredDecision deferred = world.Next();
  deferred.deferred = true;
  StoredDecision alone = world.Next();
  alone.offered = 1;
  alone.ids.resize(1);
  alone.q.resize(1);
  alone.slots[0].chosen = 0;
  alone.slots[0].law = {1};
  for (const StoredDecision& decision : {baseline, deferred, alone}) {
    monitor.Add(LiftMonitor::Prepare(decision));
    const RewardRow row = world.RewardOf(decision);
    monitor.Rewarded({&row, 1});
  }
  monitor.Close(kStart);
  const LiftReport report = monitor.Report();
  EXPECT_EQ(report.left_out, 3u);
  EXPECT_EQ(report.first + report.judged + report.waiting, 0u);
  EXPECT_EQ(report.problem, "");
}

TEST(LiftMonitorTest, TakesTheLogsBytesWhereTheyAreWhatItKeeps) {
  World world;
  StoredDecision decision = world.Next();
  decision.ids.resize(decision.arms());
  std::iota(decision.ids.begin(), decision.ids.end(), 7U);
  const auto encoded = [&] {
    std::string bytes;
    EncodeDecision(decision, bytes);
    return bytes;
  };
  EXPECT_EQ(LiftMonitor::Prepare(decision, encoded()).decision, encoded());
  EXPECT_EQ(LiftMonitor::Prepare(decision).decision, encoded());
  // Contexts and features are not kept, whoever encodes.
  decision.context = "{\"city\":\"Oslo\"}";
  EXPECT_NE(LiftMonitor::Prepare(decision, encoded()).decision, encoded());
  EXPECT_EQ(LiftMonitor::Prepare(decision, encoded()).decision,
            LiftMonitor::Prepare(decision).decision);
}

TEST(LiftMonitorTest, AReportOfAnotherRankEndsIt) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  StoredDecision ranking = world.Next();
  ranking.slots[0].chosen = 0;
  ranking.ranks = {{.position = 0, .mark = 11}, {.position = 3, .mark = 12}};
  monitor.Add(LiftMonitor::Prepare(ranking));
  const RewardRow row{.decision = ranking.slots[0].id, .value = 1, .sequence = 1, .mark = 12};
  monitor.Rewarded({&row, 1});
  monitor.Close(kStart);
  EXPECT_THAT(monitor.Report().problem, ::testing::HasSubstr("another rank"));
  EXPECT_TRUE(monitor.Report().values.empty());
}

TEST(LiftMonitorTest, WrongPropensitiesEndIt) {
  World world;
  world.claimed = 0.6;
  LiftMonitor monitor(world.facts, 0);
  Feed(world, 3000, monitor);
  EXPECT_THAT(monitor.Report().problem, ::testing::StartsWith("arms were not drawn by their"));
  EXPECT_TRUE(monitor.Report().values.empty());
  EXPECT_FALSE(monitor.Report().needed);
}

TEST(LiftMonitorTest, PointsStayBounded) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  Feed(world, 500 + 30'000, monitor);
  const LiftReport report = monitor.Report();
  EXPECT_LE(report.points.size(), LiftMonitor::kPointsMax);
  EXPECT_GT(report.points.size(), LiftMonitor::kPointsMax / 2 - 2);
  const std::uint64_t every = report.points[0].decisions;
  EXPECT_EQ(every, 400u);
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    EXPECT_EQ(report.points[i].decisions, (i + 1) * every);
    EXPECT_EQ(report.points[i].time,
              kStart + absl::Seconds(static_cast<double>(500 + (i + 1) * every - 1)));
    EXPECT_EQ(report.points[i].values.size(), 3u);
  }
  // The last point is of all decisions.
  EXPECT_EQ(report.points.back().values[1].low, report.values[1].low);
}

// A forecast from a tenth of the decisions is within a third of what it takes.
TEST(LiftMonitorTest, SaysHowManyDecisionsAreNeeded) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  Feed(world, 1500, monitor);
  const auto forecast = monitor.Report().needed;
  ASSERT_TRUE(forecast);
  std::uint64_t took = 0;
  while (*monitor.Report().needed > 0) {
    Feed(world, 100, monitor);
    took += 100;
    ASSERT_LT(took, 100'000u);
  }
  EXPECT_GT(took, 5000u);
  EXPECT_NEAR(static_cast<double>(*forecast), static_cast<double>(took),
              static_cast<double>(took) / 3);
  const LiftValue lift = monitor.Report().values[1];
  const double uniform = *monitor.Report().values[0].value - *lift.value;
  EXPECT_NEAR((*lift.high - *lift.low) / 2, 0.1 * uniform, 0.01 * uniform);
}

// By the law and the means alone, before there is a decision.
TEST(LiftMonitorTest, AForecastOfTheLawIsWhatItTakes) {
  for (World world : {World(), Released(2)}) {
    world.exact = true;
    const double low = world.facts.epsilon > 0 ? world.facts.low : 0;
    const double width = 1 - 2 * low;
    std::vector<double> law;
    std::vector<double> means;
    for (int arm = 0; arm < kArms; ++arm) {
      law.push_back(World::LawOf(kShare, arm));
      means.push_back((world.means[arm] - low) / width);
    }
    const double uniform = world.Truth()[0] - world.Truth()[1];
    const auto forecast = DecisionsToSee(law, means, 0.1 * uniform / width, LiftMonitor::kPlanned,
                                         LiftMonitor::LogThreshold());
    ASSERT_TRUE(forecast);
    LiftMonitor monitor(world.facts, 0);
    Feed(world, 600, monitor);
    while (*monitor.Report().needed > 0) {
      Feed(world, 500, monitor);
      ASSERT_LT(monitor.Report().judged, 400'000u);
    }
    const auto took = static_cast<double>(monitor.Report().judged);
    EXPECT_NEAR(*forecast, took, took / 3) << "epsilon " << world.facts.epsilon;
  }
}

TEST(LiftMonitorTest, WhatWaitsIsBounded) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  while (monitor.Report().left_out == 0) {
    for (int i = 0; i < 1000; ++i) monitor.Add(LiftMonitor::Prepare(world.Next()));
  }
  const std::uint64_t waiting = monitor.Report().waiting;
  EXPECT_GT(waiting, 50'000u);
  EXPECT_LT(waiting * 256, LiftMonitor::kWaitingBytesMax);
  monitor.Close(kStart + 10 * kLife);
  EXPECT_EQ(monitor.Report().waiting, 0u);
  EXPECT_EQ(monitor.Report().first + monitor.Report().judged, waiting);
  monitor.Add(LiftMonitor::Prepare(world.Next()));
  EXPECT_EQ(monitor.Report().waiting, 1u);
}

// Slots of one list are one decision, and it closes when all are known.
TEST(LiftMonitorTest, AListIsOneDecision) {
  World world;
  LiftMonitor monitor(world.facts, 0);
  for (int i = 0; i < 600; ++i) {
    StoredDecision list = world.Next();
    list.slots[0].chosen = static_cast<std::uint32_t>(i % 2);
    StoredSlot second{.id = IdOf(1'000'000 + static_cast<std::uint64_t>(i))};
    second.chosen = 4;
    second.law.assign(kArms, 0.25);
    second.law[list.slots[0].chosen] = kNotOffered;
    list.slots.push_back(second);
    list.ranks = {{.position = list.slots[0].chosen, .mark = 1}, {.position = 4, .mark = 2}};
    monitor.Add(LiftMonitor::Prepare(list));
    const RewardRow rows[] = {{.decision = list.slots[0].id, .value = 0.5, .sequence = 1},
                              {.decision = second.id, .value = 0.25, .sequence = 2}};
    monitor.Rewarded({rows, 1});
    monitor.Close(list.time);
    EXPECT_EQ(monitor.Report().waiting, 1u);
    monitor.Rewarded({rows + 1, 1});
    monitor.Close(list.time);
    EXPECT_EQ(monitor.Report().waiting, 0u);
  }
  const LiftReport report = monitor.Report();
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.judged, 100u);
  EXPECT_LE(*report.values[0].low, 0.75);
  EXPECT_GE(*report.values[0].high, 0.75);
}

}  // namespace
}  // namespace bandana::testing
