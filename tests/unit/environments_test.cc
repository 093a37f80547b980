// Settings, seeded streams, and what each simulated world promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/status_matchers.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"
#include "tools/environments/random.h"
#include "tools/environments/vectors.h"
#include "tools/environments/zipf.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::StatusOr<std::unique_ptr<Environment>> Make(std::string_view spec,
                                                  const std::vector<std::string>& assignments = {},
                                                  std::uint64_t seed = 1) {
  absl::StatusOr<Settings> settings = Settings::Parse(assignments);
  if (!settings.ok()) return settings.status();
  return MakeEnvironment(spec, *std::move(settings), seed);
}

TEST(SettingsTest, RefusesWhatIsNotKeyValue) {
  for (const char* text : {"", "=1", "users", "Users=1", "a b=1"}) {
    EXPECT_THAT(Settings::Parse(std::vector<std::string>{text}), StatusIs(kInvalid, "key=value"));
  }
}

TEST(SettingsTest, RefusesTheSameKeyTwice) {
  EXPECT_THAT(Settings::Parse(std::vector<std::string>{"users=1", "users=2"}),
              StatusIs(kInvalid, "`users` is given twice"));
}

TEST(SettingsTest, ChecksTypeAndRange) {
  Settings settings = *Settings::Parse(std::vector<std::string>{"n=11", "x=nan", "c=red"});
  EXPECT_THAT(settings.TakeInt("n", 1, 1, 10), StatusIs(kInvalid, "integer in [1, 10], got `11`"));
  EXPECT_THAT(settings.TakeDouble("x", 1, 0, 10), StatusIs(kInvalid, "number in [0, 10]"));
  constexpr std::string_view kColours[] = {"blue", "green"};
  EXPECT_THAT(settings.TakeChoice("c", "blue", kColours), StatusIs(kInvalid, "blue, green"));
  EXPECT_THAT(settings.TakeInt("absent", 7, 1, 10), IsOkAndHolds(7));
}

TEST(SettingsTest, FinishNamesUnknownAndKnownKeys) {
  Settings settings = *Settings::Parse(std::vector<std::string>{"poool=3"});
  ASSERT_THAT(settings.TakeInt("pool", 1, 1, 10), IsOkAndHolds(1));
  EXPECT_THAT(settings.Finish(), StatusIs(kInvalid, "unknown setting `poool`; known here: pool"));
}

TEST(SeededStreamTest, DependsOnSeedPurposeAndIndex) {
  const std::uint64_t first = SeededStream(1, StreamPurpose::kArm, 0).Next();
  EXPECT_EQ(SeededStream(1, StreamPurpose::kArm, 0).Next(), first);
  EXPECT_NE(SeededStream(2, StreamPurpose::kArm, 0).Next(), first);
  EXPECT_NE(SeededStream(1, StreamPurpose::kReward, 0).Next(), first);
  EXPECT_NE(SeededStream(1, StreamPurpose::kArm, 1).Next(), first);
}

TEST(SampleDistinctTest, DrawsEverySubsetAlike) {
  // 2 of 4 in order: 12 outcomes, 12,000 draws. Each count is Binomial(12000, 1/12), sd 30.3; six
  // sd is one chance in 5e8 a cell.
  std::map<std::vector<std::uint32_t>, int> counts;
  std::vector<std::uint32_t> drawn;
  SeededStream stream(5, StreamPurpose::kDecision, 0);
  for (int i = 0; i < 12'000; ++i) {
    SampleDistinct(stream, 4, 2, drawn);
    ++counts[drawn];
  }
  EXPECT_EQ(counts.size(), 12u);
  for (const auto& [pair, count] : counts) {
    EXPECT_NE(pair[0], pair[1]);
    EXPECT_NEAR(count, 1000, 182);
  }
}

TEST(SampleDistinctTest, OfAllIsAPermutation) {
  SeededStream stream(5, StreamPurpose::kDecision, 0);
  std::vector<std::uint32_t> drawn;
  SampleDistinct(stream, 50, 50, drawn);
  EXPECT_THAT(std::set(drawn.begin(), drawn.end()), SizeIs(50));
}

TEST(PermutedTest, IsAPermutationThatChangesWithRoundAndSeed) {
  for (const std::uint64_t size : {1u, 2u, 3u, 64u, 1000u}) {
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < size; ++i) images.insert(Permuted(3, 0, size, i));
    EXPECT_EQ(images.size(), size);
    EXPECT_LT(*images.rbegin(), size);
  }
  int moved_by_round = 0;
  int moved_by_seed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    moved_by_round += Permuted(3, 0, 1000, i) != Permuted(3, 1, 1000, i);
    moved_by_seed += Permuted(3, 0, 1000, i) != Permuted(4, 0, 1000, i);
  }
  EXPECT_GT(moved_by_round, 950);
  EXPECT_GT(moved_by_seed, 950);
}

TEST(EnvironmentTest, RefusesUnknownNamesAndSettings) {
  EXPECT_THAT(Make("lab"), StatusIs(kInvalid, "hetrec:DIR[:replay]"));
  EXPECT_THAT(Make("synthetic", {"colour=red"}), StatusIs(kInvalid, "unknown setting `colour`"));
  EXPECT_THAT(Make("sparse", {"users=2"}), StatusIs(kInvalid, "unknown setting `users`"));
  EXPECT_THAT(Make("synthetic", {"arms=5", "pool=6"}), StatusIs(kInvalid, "`pool`"));
  EXPECT_THAT(Make("sparse", {"dimension=4", "sparsity=5"}), StatusIs(kInvalid, "`sparsity`"));
  EXPECT_THAT(Make("hetrec:"), StatusIs(kInvalid, "needs a folder"));
}

TEST(EnvironmentTest, SyntheticHasThePapersShape) {
  const auto environment = *Make("synthetic");
  const EnvironmentInfo& info = environment->info();
  EXPECT_EQ(info.users, 10);
  EXPECT_EQ(info.dimension, 10);
  EXPECT_EQ(info.pool, 10);
  EXPECT_EQ(info.reward_min, -0.5);
  EXPECT_EQ(info.reward_max, 0.5);
  EXPECT_EQ(info.reward_stddev, 0.05);
  Choice decision;
  for (int i = 0; i < 20; ++i) {
    environment->DecisionAt(i, decision);
    EXPECT_EQ(decision.user, std::to_string(i % 10));  // in turn
    ASSERT_THAT(decision.features, SizeIs(100));
    ASSERT_THAT(decision.expected, SizeIs(10));
    EXPECT_THAT(decision.arm_ids, SizeIs(0));
  }
}

TEST(EnvironmentTest, OnlySyntheticAndBanditLibCoupleUsers) {
  EXPECT_THAT((*Make("synthetic"))->Influence(), SizeIs(100));
  EXPECT_THAT((*Make("banditlib"))->Similarity(), SizeIs(100));
  for (const char* name : {"sphere", "sparse", "mab"}) {
    EXPECT_THAT((*Make(name))->Influence(), SizeIs(0));
    EXPECT_THAT((*Make(name))->Similarity(), SizeIs(0));
  }
}

TEST(EnvironmentTest, GraphFollowsTheWorldAndNotTheSeed) {
  EXPECT_EQ((*Make("synthetic", {}, 1))->Influence(), (*Make("synthetic", {}, 2))->Influence());
  EXPECT_NE((*Make("synthetic", {"world=2"}))->Influence(), (*Make("synthetic"))->Influence());
}

TEST(EnvironmentTest, BanditLibMasksWholeGroups) {
  // Entries outside a group's mask are exactly 0; article vectors of one group share them, so over
  // all arms shown there are at most five patterns.
  const auto environment = *Make("banditlib");
  std::set<std::vector<bool>> patterns;
  Choice decision;
  for (int i = 0; i < 100; ++i) {
    environment->DecisionAt(i, decision);
    for (int a = 0; a < 10; ++a) {
      std::vector<bool> pattern;
      for (int j = 0; j < 16; ++j) pattern.push_back(decision.features[a * 16 + j] != 0);
      patterns.insert(pattern);
    }
  }
  EXPECT_LE(patterns.size(), 5u);
  EXPECT_GE(patterns.size(), 2u);
}

TEST(EnvironmentTest, SphereRewardsAreSigns) {
  const auto environment = *Make("sphere");
  EXPECT_EQ(environment->info().pool, 25);
  EXPECT_EQ(environment->info().dimension, 5);
  EXPECT_TRUE(environment->info().reward_binary);
  Choice decision;
  for (int i = 0; i < 50; ++i) {
    environment->DecisionAt(i, decision);
    EXPECT_EQ(std::abs(environment->RewardAt(i, decision, 0)), 1);
    EXPECT_LE(decision.BestExpected(), 0.75);
  }
}

TEST(EnvironmentTest, ALogisticSphereRewardsOneOrNothing) {
  const auto environment = *Make("sphere", {"link=logistic", "pool=3"});
  EXPECT_EQ(environment->info().link, Link::kLogistic);
  EXPECT_EQ(environment->info().reward_min, 0);
  EXPECT_TRUE(environment->info().reward_binary);
  EXPECT_EQ(environment->info().reward_stddev, 0.5);
  EXPECT_NEAR(environment->info().theta_stddev, 4 / std::sqrt(5.0), 1e-12);
  Choice decision;
  double sum = 0;
  double expected = 0;
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    environment->DecisionAt(i, decision);
    EXPECT_LE(decision.BestExpected(), 1 / (1 + std::exp(-4.0)) + 1e-12);
    expected += decision.expected[1];
    const double reward = environment->RewardAt(i, decision, 1);
    EXPECT_TRUE(reward == 0 || reward == 1);
    sum += reward;
  }
  // Five deviations of a mean of values in [0, 1].
  EXPECT_NEAR(sum / kRounds, expected / kRounds, 5 * 0.5 / std::sqrt(kRounds));
  EXPECT_THAT(Make("sphere", {"link=logistic", "noise=0.1"}), StatusIs(kInvalid, "noise"));
  EXPECT_THAT(Make("sphere", {"link=probit"}), StatusIs(kInvalid, "link"));
}

TEST(EnvironmentTest, SparseParameterIsThePapers) {
  // The expectation of an arm is its first five features times beta*.
  const auto environment = *Make("sparse");
  EXPECT_EQ(environment->info().dimension, 400);
  EXPECT_EQ(environment->info().pool, 3);
  Choice decision;
  environment->DecisionAt(11, decision);
  const double* x = decision.features.data() + 400;
  EXPECT_NEAR(decision.expected[1],
              0.7484 * x[0] + 0.6370 * x[1] + 0.6345 * x[2] + 0.6964 * x[3] + 0.7199 * x[4], 1e-12);
}

TEST(EnvironmentTest, BernoulliArmsAreUnitVectors) {
  const auto environment = *Make("mab", {"arms=3"});
  Choice decision;
  environment->DecisionAt(0, decision);
  EXPECT_THAT(decision.features, ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(decision.expected, Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(1))));
}

// Pearson's statistic of 40,000 draws against the law, cells of rank 0 to 8 and the rest.
TEST(ZipfLawTest, FollowsTheLaw) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.5, 3.0}) {
    for (const int n : {1, 2, 10, 1000}) {
      const ZipfLaw law(n, exponent);
      const int cells = std::min(n, 10);
      std::vector<double> expected(cells, 0);
      double total = 0;
      for (int rank = 0; rank < n; ++rank) {
        const double weight = std::pow(rank + 1, -exponent);
        expected[std::min(rank, cells - 1)] += weight;
        total += weight;
      }
      constexpr int kDraws = 40'000;
      std::vector<int> counts(cells, 0);
      SeededStream stream(3, StreamPurpose::kDecision, n);
      for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t rank = law.Draw(stream);
        ASSERT_LT(rank, static_cast<std::uint64_t>(n));
        ++counts[std::min<std::uint64_t>(rank, cells - 1)];
      }
      double chi_squared = 0;
      for (int cell = 0; cell < cells; ++cell) {
        const double mean = kDraws * expected[cell] / total;
        chi_squared += (counts[cell] - mean) * (counts[cell] - mean) / mean;
      }
      // One chance in 10^6 with 9 degrees of freedom.
      EXPECT_LT(chi_squared, 45) << "exponent " << exponent << ", n " << n;
    }
  }
}

TEST(CrowdTest, NamesArmsWithTheSameFeatures) {
  const auto environment = *Make("crowd", {"users=1000", "arms=40", "dimension=3", "pool=5"});
  EXPECT_EQ(environment->info().form, ArmForm::kInline);
  std::map<std::uint32_t, std::vector<double>> features;
  Choice decision;
  for (int i = 0; i < 300; ++i) {
    environment->DecisionAt(i, decision);
    EXPECT_EQ(std::set(decision.arm_ids.begin(), decision.arm_ids.end()).size(), 5u);
    for (int a = 0; a < 5; ++a) {
      const std::vector<double> x(decision.features.begin() + 3 * a,
                                  decision.features.begin() + 3 * a + 3);
      const auto [found, fresh] = features.emplace(decision.arm_ids[a], x);
      EXPECT_EQ(found->second, x);
      EXPECT_NEAR(Dot(x, x), 1, 1e-12);
    }
  }
  EXPECT_EQ(features.size(), 40u);
}

// One arm shown to many users: those of a group agree as far as the parts of the reward say.
TEST(CrowdTest, UsersOfAGroupAgree) {
  const auto environment = *Make("crowd", {"users=100000", "arms=1", "levels=1", "group_users=50",
                                           "own=0", "shared=0", "activity=0"});
  const KnownUsers& known = *environment->known_users();
  EXPECT_EQ(known.levels(), 1);
  std::map<std::uint32_t, double> of_group;
  Choice decision;
  double square = 0;
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    environment->DecisionAt(i, decision);
    const auto group = known.GroupOf(static_cast<std::uint32_t>(std::stoul(decision.user)), 0);
    EXPECT_LT(group, 2000u);
    const auto [found, fresh] = of_group.emplace(group, decision.expected[0]);
    EXPECT_EQ(found->second, decision.expected[0]) << "all that differs is the group";
    square += decision.expected[0] * decision.expected[0];
  }
  EXPECT_GT(of_group.size(), 1000u);
  // Groups 0.15 and one arm's popularity: between 0.02 and 0.04.
  EXPECT_NEAR(std::sqrt(square / kRounds), 0.15, 0.05);
}

TEST(CrowdTest, GroupsNestAndFriendsAreMostlyNear) {
  const auto environment = *Make("crowd", {"users=10000", "levels=4"});
  const KnownUsers& known = *environment->known_users();
  std::vector<std::uint32_t> friends;
  int all = 0;
  int near = 0;
  for (std::uint32_t user = 0; user < 10'000; ++user) {
    EXPECT_EQ(known.GroupOf(user, 3), user / 50);
    for (int level = 1; level < 4; ++level) {
      EXPECT_EQ(known.GroupOf(user, level) / 2, known.GroupOf(user, level - 1));
    }
    known.FriendsOf(user, friends);
    for (const std::uint32_t other : friends) {
      ASSERT_LT(other, 10'000u);
      EXPECT_NE(other, user);
      ++all;
      near += known.GroupOf(other, 3) == known.GroupOf(user, 3);
    }
  }
  EXPECT_GT(all, 85'000);
  EXPECT_NEAR(near, 0.65 * all, 0.04 * all) << "1/2 + 1/8 + 1/32 + ..., but for doubles";
}

TEST(CrowdTest, UsersAndArmsArrive) {
  const auto environment =
      *Make("crowd", {"users=1000", "arms=1000", "activity=0", "start=0.1", "arrival_rounds=5000"});
  std::set<std::string> early_users;
  std::set<std::uint32_t> early_arms;
  std::set<std::string> late_users;
  std::set<std::uint32_t> late_arms;
  Choice decision;
  for (int i = 0; i < 3'000; ++i) {
    environment->DecisionAt(i < 200 ? i : 5'000 + i, decision);
    (i < 200 ? early_users : late_users).insert(decision.user);
    auto& arms = i < 200 ? early_arms : late_arms;
    arms.insert(decision.arm_ids.begin(), decision.arm_ids.end());
  }
  // 10 to 14 % are there early.
  EXPECT_LT(early_users.size(), 190u);
  EXPECT_LT(early_arms.size(), 190u);
  EXPECT_GT(early_arms.size(), 60u);
  EXPECT_GT(late_users.size(), 900u);
  EXPECT_EQ(late_arms.size(), 1000u);
}

TEST(CrowdTest, CostsNothingPerUser) {
  const auto environment = *Make("crowd", {"users=10000000", "arms=100000000", "levels=20"});
  Choice decision;
  environment->DecisionAt(1'000'000'000'000, decision);
  EXPECT_EQ(decision.arm_ids.size(), 10u);
  EXPECT_EQ(environment->known_users()->GroupOf(9'999'999, 0), 0u);
}

// The best point is worth 0, a uniform one what the closed form says.
TEST(PointsTest, RewardsAreConcaveAboutAHiddenPoint) {
  for (const char* domain : {"domain=ball", "domain=box"}) {
    const auto environment = *Make("points", {domain, "dimension=3"}, 4);
    const PointRewards& points = *environment->points();
    SeededStream stream(9, StreamPurpose::kArm, 0);
    double mean = 0;
    double noise = 0;
    int inside = 0;
    constexpr int kPoints = 40'000;
    for (int i = 0; inside < kPoints; ++i) {
      const std::vector<double> x = {2 * stream.Uniform() - 1, 2 * stream.Uniform() - 1,
                                     2 * stream.Uniform() - 1};
      if (!points.domain().Contains(x)) continue;
      ++inside;
      const double reward = points.RewardAt(i, x);
      ASSERT_LE(points.Expected(x), points.BestExpected());
      ASSERT_GE(reward, environment->info().reward_min);
      ASSERT_LE(reward, environment->info().reward_max);
      mean += points.Expected(x) / kPoints;
      noise += (reward - points.Expected(x)) / kPoints;
    }
    EXPECT_NEAR(mean, points.MeanExpected(), 0.01);  // of a deviation below 0.5 / sqrt(kPoints)
    EXPECT_NEAR(noise, 0, 0.01);
    Choice decision;
    environment->DecisionAt(5, decision);
    EXPECT_EQ(decision.user, "0");
    EXPECT_TRUE(decision.features.empty());
  }
  EXPECT_THAT(Make("points", {"domain=disc"}), StatusIs(kInvalid, "ball, box"));
  EXPECT_THAT(Make("points", {"dimension=257"}), StatusIs(kInvalid, "dimension"));
  EXPECT_EQ((*Make("mab"))->points(), nullptr);
}

}  // namespace
}  // namespace bandana::testing
