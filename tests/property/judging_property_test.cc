// Terms of estimates and bounds, against every draw and every reward that there could have been.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "common/judging/judged_unit.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr std::size_t kArms = 4;
using Prefix = std::vector<int>;

// A world of lists: laws of the log and of two policies given the slots before, predictions, and
// the mean reward of a slot given the arms up to it. Rewards are 0 or 1.
struct ListWorld {
  std::size_t slots = 1;
  std::map<Prefix, std::vector<double>> p, one, two, q, mean;
};

std::vector<double> RandomLaw(TestRng& rng, const Prefix& prefix, double floor) {
  std::vector<double> law(kArms);
  double sum = 0;
  for (std::size_t arm = 0; arm < kArms; ++arm) {
    const bool taken =
        std::find(prefix.begin(), prefix.end(), static_cast<int>(arm)) != prefix.end();
    law[arm] = taken ? 0 : floor + std::pow(rng.Uniform(), 4);
    sum += law[arm];
  }
  for (double& value : law) value /= sum;
  return law;
}

void Fill(ListWorld& world, TestRng& rng, const Prefix& prefix) {
  world.p[prefix] = RandomLaw(rng, prefix, 0.02);
  world.one[prefix] = RandomLaw(rng, prefix, 0);
  world.two[prefix] = RandomLaw(rng, prefix, 0);
  world.q[prefix].resize(kArms);
  world.mean[prefix].resize(kArms);
  for (std::size_t arm = 0; arm < kArms; ++arm) {
    world.q[prefix][arm] = rng.Uniform();
    world.mean[prefix][arm] = rng.Uniform();
  }
  if (prefix.size() + 1 == world.slots) return;
  for (std::size_t arm = 0; arm < kArms; ++arm) {
    if (world.p[prefix][arm] == 0) continue;
    Prefix longer = prefix;
    longer.push_back(static_cast<int>(arm));
    Fill(world, rng, longer);
  }
}

// The sum over slots of the mean reward under a policy.
double ValueOf(const ListWorld& world, const std::map<Prefix, std::vector<double>>& policy,
               const Prefix& prefix = {}) {
  if (prefix.size() == world.slots) return 0;
  double value = 0;
  for (std::size_t arm = 0; arm < kArms; ++arm) {
    const double chance = policy.at(prefix)[arm];
    if (chance == 0) continue;
    Prefix longer = prefix;
    longer.push_back(static_cast<int>(arm));
    value += chance * (world.mean.at(prefix)[arm] + ValueOf(world, policy, longer));
  }
  return value;
}

struct Outcome {
  LoggedDecision decision;
  JudgedUnit unit;
  UnitLaws one, two;
};

// Calls `use` with each list and each vector of rewards, and its probability.
void ForEach(const ListWorld& world, bool whole, const RewardScale& scale,
             const std::function<void(const Outcome&, double)>& use) {
  const auto lists = static_cast<std::size_t>(std::pow(kArms, world.slots));
  for (std::size_t number = 0; number < lists; ++number) {
    for (std::size_t clicks = 0; clicks < (1u << world.slots); ++clicks) {
      Outcome outcome;
      outcome.decision.slots.resize(world.slots);
      outcome.unit.slots.resize(world.slots);
      outcome.unit.count = world.slots;
      outcome.one.slots.resize(world.slots);
      outcome.two.slots.resize(world.slots);
      double probability = 1;
      Prefix prefix;
      std::size_t rest = number;
      for (std::size_t at = 0; at < world.slots && probability > 0; ++at, rest /= kArms) {
        const std::size_t arm = rest % kArms;
        LoggedSlot& logged = outcome.decision.slots[at];
        logged.offered = kArms;
        logged.p = world.p.at(prefix);
        logged.chosen = static_cast<std::uint32_t>(arm);
        logged.chosen_p = logged.p[arm];
        probability *= logged.chosen_p;
        if (probability == 0) break;
        const bool click = (clicks >> at) % 2 == 1;
        const double mean = world.mean.at(prefix)[arm];
        probability *= click ? mean : 1 - mean;
        JudgedSlot& judged = outcome.unit.slots[at];
        judged.view.at = at;
        judged.whole = whole;
        judged.y01 = click ? 1 : 0;
        judged.y = scale.low + scale.width() * judged.y01;
        if (whole) judged.q01 = world.q.at(prefix);
        outcome.one.slots[at] = {world.one.at(prefix), world.one.at(prefix)[arm]};
        outcome.two.slots[at] = {world.two.at(prefix), world.two.at(prefix)[arm]};
        prefix.push_back(static_cast<int>(arm));
      }
      if (probability == 0) continue;
      for (JudgedSlot& judged : outcome.unit.slots) judged.view.decision = &outcome.decision;
      use(outcome, probability);
    }
  }
}

struct Case {
  std::size_t slots;
  bool whole;       // all propensities are known
  bool difference;  // of two policies
  ListWeights weights;
};

void CheckCase(const Case& c, std::uint64_t seed) {
  TestRng rng(seed);
  ListWorld world;
  world.slots = c.slots;
  Fill(world, rng, {});
  const RewardScale scale{-0.5, 1.5};
  const double value01 = ValueOf(world, world.one) - (c.difference ? ValueOf(world, world.two) : 0);
  const double offset = c.difference ? 0 : scale.low * static_cast<double>(c.slots);
  const double value = offset + scale.width() * value01;
  for (const double k : {1.0, 2.0, 20.0}) {
    double ips = 0, dr = 0, step[2][2] = {}, total = 0;
    ForEach(world, c.whole, scale, [&](const Outcome& outcome, double probability) {
      PairUnit pair;
      pair.Set(outcome.unit, outcome.one, c.difference ? &outcome.two : nullptr, c.weights);
      ips += probability * pair.Ips();
      dr += probability * pair.Dr(scale);
      total += probability;
      for (const bool upper : {false, true}) {
        for (const bool predictions : {false, true}) {
          const BoundTerm term = pair.Step(upper, k, predictions);
          EXPECT_GE(term.residual, -k * (1 + 1e-12)) << "--seed=" << seed;
          step[upper][predictions] += probability * (term.centre + term.residual);
        }
      }
    });
    const double near = 1e-9;
    EXPECT_NEAR(total, 1, near);
    EXPECT_NEAR(ips, value, near) << "--seed=" << seed;
    EXPECT_NEAR(dr, value, near) << "--seed=" << seed;
    for (const bool predictions : {false, true}) {
      EXPECT_NEAR(step[0][predictions], value01, near) << "--seed=" << seed << " k " << k;
      EXPECT_NEAR(step[1][predictions], -value01, near) << "--seed=" << seed << " k " << k;
    }
  }
}

TEST(JudgingProperty, TermsHaveTheirMeanOverAllDraws) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const std::size_t slots : {1, 2, 3}) {
      for (const bool whole : {true, false}) {
        for (const bool difference : {false, true}) {
          for (const ListWeights weights : {ListWeights::kPrefix, ListWeights::kWhole}) {
            CheckCase({slots, whole, difference, weights}, seed);
          }
        }
      }
    }
  }
}

// A centre is known before the draw: with one slot it is the same for every arm and reward.
TEST(JudgingProperty, CentresAreKnownBeforeTheDraw) {
  TestRng rng(3);
  ListWorld world;
  Fill(world, rng, {});
  for (const bool upper : {false, true}) {
    std::vector<double> centres;
    ForEach(world, true, {}, [&](const Outcome& outcome, double) {
      PairUnit pair;
      pair.Set(outcome.unit, outcome.one, &outcome.two, ListWeights::kPrefix);
      centres.push_back(pair.Step(upper, 2, true).centre);
    });
    for (const double centre : centres) EXPECT_EQ(centre, centres[0]);
  }
}

// Arms that could not be drawn are told, and the terms are those of the others.
TEST(JudgingProperty, UncoveredMassIsKnown) {
  TestRng rng(4);
  ListWorld world;
  Fill(world, rng, {});
  world.p[{}] = {0.5, 0, 0.5, 0};
  double gained = 0, lost = 0, expected = 0, steps = 0;
  for (const std::size_t arm : {0, 2}) {
    expected += (world.one[{}][arm] - world.two[{}][arm]) * world.mean[{}][arm];
  }
  for (const std::size_t arm : {1, 3}) {
    const double more = world.one[{}][arm] - world.two[{}][arm];
    (more > 0 ? gained : lost) += std::abs(more);
  }
  ForEach(world, true, {}, [&](const Outcome& outcome, double probability) {
    PairUnit pair;
    pair.Set(outcome.unit, outcome.one, &outcome.two, ListWeights::kPrefix);
    EXPECT_NEAR(pair.gained(), gained, 1e-12);
    EXPECT_NEAR(pair.lost(), lost, 1e-12);
    EXPECT_NEAR(pair.covered(), lost - gained, 1e-12);
    const BoundTerm with = pair.Step(false, 2, true), without = pair.Step(false, 2, false);
    EXPECT_NEAR(without.residual, without.residual, 0);
    steps += probability * (with.centre + with.residual + without.centre + without.residual) / 2;
  });
  EXPECT_NEAR(steps, expected, 1e-9);
}

}  // namespace
}  // namespace bandana::testing
