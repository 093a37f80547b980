// Traffic splits over users: equal models are rarely told apart, unequal ones often, and a test
// over decisions tells equal ones apart. Short: 40 worlds; with BANDANA_JUDGING_SEEDS=2000 the
// figures of docs/design/judging_measured.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/judging/judge.h"
#include "common/judging/user_split.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/statistics.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr int kUsers = 3000;
constexpr int kDecisions = 30'000;
const std::vector<SplitModel> kModels = {{"a", 0.5}, {"b", 0.5}};

int Worlds(int whole) {
  const char* seeds = std::getenv("BANDANA_JUDGING_SEEDS");
  return seeds != nullptr && std::atoi(seeds) >= 2000 ? whole : 40;
}

struct Visit {
  int user;
  int model;
  bool click;
};

// Users of unequal activity (a power law) and unequal taste (means 0.02 to 0.3, 0.1 on average),
// each with one model; model b brings `lift` more.
std::vector<Visit> MakeWorld(std::uint64_t seed, double lift) {
  TestRng rng(seed);
  std::vector<double> tastes(kUsers), ends(kUsers);
  std::vector<int> models(kUsers);
  double total = 0;
  for (std::size_t user = 0; user < kUsers; ++user) {
    const double u = rng.Uniform();
    tastes[user] = 0.02 + 0.28 * u * u * std::sqrt(u);  // u^2.5 has the mean 2/7
    models[user] = rng.Index(2);
    total += std::pow(1 - rng.Uniform(), -0.8);
    ends[user] = total;
  }
  std::vector<Visit> visits;
  for (int i = 0; i < kDecisions; ++i) {
    const auto found = std::upper_bound(ends.begin(), ends.end(), rng.Uniform() * total);
    const auto user = static_cast<int>(std::min(found, ends.end() - 1) - ends.begin());
    const double chance = tastes[static_cast<std::size_t>(user)] +
                          (models[static_cast<std::size_t>(user)] == 1 ? lift : 0);
    visits.push_back({user, models[static_cast<std::size_t>(user)], rng.Uniform() < chance});
  }
  return visits;
}

struct Looks {
  bool apart = false;         // at some look the interval left out `truth`
  bool apart_at_end = false;  // at the last it left out 0
};

Looks LookAt(const std::vector<LoggedDecision>& units, double truth) {
  JudgeOptions options;
  options.used = units.size();
  SplitPolicies split = MakeSplitPolicies(2);
  Judge judge(options, std::move(split.policies), split.pairs);
  Looks looks;
  for (const LoggedDecision& unit : units) {
    judge.Add(unit);
    const PairJudgement::Sides& sides = judge.judgement(2).dr;
    const auto excludes = [&](double difference) {
      return sides.lower.Excludes(difference, judge.log_threshold()) ||
             sides.upper.Excludes(-difference, judge.log_threshold());
    };
    looks.apart = looks.apart || excludes(truth);
    looks.apart_at_end = excludes(0);
  }
  return looks;
}

LoggedDecision Decision(const Visit& visit, int number, double epsilon, TestRng& rng) {
  LoggedDecision decision;
  decision.id = std::to_string(number);
  decision.user = std::to_string(visit.user);
  decision.time = absl::FromUnixSeconds(number);
  LoggedSlot slot;
  slot.offered = 2;
  slot.p = {1, 0};
  slot.chosen_p = 1;
  slot.state = RewardState::kKnown;
  slot.reward = visit.click ? 1 : 0;
  if (epsilon > 0) {
    const double low = -1 / (std::exp(epsilon) - 1);
    const bool said = rng.Uniform() < 1 / (1 + std::exp(-epsilon)) ? visit.click : !visit.click;
    slot.reward = said ? 1 - low : low;
    slot.released = ReleaseLaw{epsilon, low, 1 - low};
  }
  decision.slots = {slot};
  return decision;
}

std::vector<LoggedDecision> UsersOf(const std::vector<Visit>& visits) {
  UserSplit split({.horizon = absl::Seconds(kDecisions)}, kModels);
  TestRng rng(1);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    split.Add(static_cast<std::size_t>(visits[i].model),
              Decision(visits[i], static_cast<int>(i), 0, rng));
  }
  SplitAnswer answer;
  std::vector<LoggedDecision> units;
  for (const SplitUser& user : split.Users(absl::InfiniteFuture(), answer)) {
    units.push_back(SplitUnit(user, kModels));
  }
  return units;
}

// The mutant: each decision is a unit.
std::vector<LoggedDecision> DecisionsOf(const std::vector<Visit>& visits) {
  std::vector<LoggedDecision> units;
  for (const Visit& visit : visits) {
    units.push_back(SplitUnit({std::to_string(units.size()), static_cast<std::size_t>(visit.model),
                               absl::Time(), visit.click ? 1.0 : 0.0},
                              kModels));
  }
  return units;
}

TEST(UserSplitStat, EqualModelsAreRarelyToldApart) {
  const int worlds = Worlds(1000);
  std::uint64_t apart = 0;
  for (int seed = 1; seed <= worlds; ++seed) {
    apart += LookAt(UsersOf(MakeWorld(static_cast<std::uint64_t>(seed), 0)), 0).apart;
  }
  std::printf("equal models, looked at after every user: told apart in %llu of %d worlds\n",
              static_cast<unsigned long long>(apart), worlds);
  EXPECT_GT(BinomialUpperTail(apart, static_cast<std::uint64_t>(worlds), 0.05),
            AlphaOf("judging_splits"));
}

TEST(UserSplitStat, UnequalModelsAreToldApart) {
  const int worlds = Worlds(200);
  std::uint64_t apart = 0;
  for (int seed = 1; seed <= worlds; ++seed) {
    apart += LookAt(UsersOf(MakeWorld(static_cast<std::uint64_t>(seed), 0.03)), 0).apart_at_end;
  }
  std::printf("a difference of 0.03 on 0.1, %d users: seen in %llu of %d worlds\n", kUsers,
              static_cast<unsigned long long>(apart), worlds);
  EXPECT_GT(BinomialLowerTail(apart, static_cast<std::uint64_t>(worlds), 0.5),
            AlphaOf("judging_splits"));
}

// Power above 0.99: 40 worlds with a chance of 0.5 each pass the bound below.
TEST(UserSplitStat, ATestOverDecisionsTellsEqualModelsApart) {
  const int worlds = Worlds(200);
  std::uint64_t apart = 0;
  for (int seed = 1; seed <= worlds; ++seed) {
    apart += LookAt(DecisionsOf(MakeWorld(static_cast<std::uint64_t>(seed), 0)), 0).apart;
  }
  std::printf("equal models, decisions as units: told apart in %llu of %d worlds\n",
              static_cast<unsigned long long>(apart), worlds);
  EXPECT_LT(BinomialUpperTail(apart, static_cast<std::uint64_t>(worlds), 0.05),
            AlphaOf("judging_splits"));
}

TEST(UserSplitStat, ReleasedRewardsAreJudgedAlike) {
  std::uint64_t outside = 0;
  const int worlds = 20;
  for (int seed = 1; seed <= worlds; ++seed) {
    const std::vector<Visit> visits = MakeWorld(static_cast<std::uint64_t>(seed), 0.03);
    UserSplit split({.horizon = absl::Seconds(kDecisions)}, kModels);
    TestRng rng(static_cast<std::uint64_t>(seed));
    for (std::size_t i = 0; i < visits.size(); ++i) {
      split.Add(static_cast<std::size_t>(visits[i].model),
                Decision(visits[i], static_cast<int>(i), 2, rng));
    }
    const SplitAnswer answer = split.Finish(absl::InfiniteFuture());
    ASSERT_EQ(answer.error, "");
    outside += !(*answer.difference.low <= 0.03 && 0.03 <= *answer.difference.high);
    EXPECT_EQ(answer.difference.users, answer.models[0].users + answer.models[1].users);
  }
  EXPECT_GT(BinomialUpperTail(outside, worlds, 0.05), AlphaOf("judging_splits"));
}

}  // namespace
}  // namespace bandana::testing
