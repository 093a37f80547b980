// Pins and limits of a list, by hand.
#include "common/ranking/policies/list_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "common/ranking/policies/selection_rules.h"

namespace bandana {
namespace {

using ::testing::ElementsAre;

// Best first: 3, 1, 4, 0, 2.
const std::vector<double> kScores = {0.2, 0.8, 0.1, 0.9, 0.5};

Candidates Arms() { return {.means = kScores, .scores = kScores, .draws = {}}; }

std::vector<RankDraw> List(const ListRules& rules, int ranks, double uniform = 0.5) {
  const std::vector<double> uniforms(static_cast<std::size_t>(ranks), uniform);
  return DrawList(*MakeUcbRule(), Arms(), rules, uniforms);
}

std::vector<int> Positions(const std::vector<RankDraw>& list) {
  std::vector<int> positions;
  for (const RankDraw& rank : list) positions.push_back(rank.position);
  return positions;
}

std::vector<double> First(const std::vector<RankDraw>& list) {
  std::vector<double> first;
  for (const RankDraw& rank : list) first.push_back(rank.first);
  return first;
}

std::vector<double> Given(const std::vector<RankDraw>& list) {
  std::vector<double> given;
  for (const RankDraw& rank : list) given.push_back(rank.given);
  return given;
}

TEST(ListRulesTest, WithoutRulesTheListIsTheRanking) {
  EXPECT_THAT(Positions(List({}, 5)), ElementsAre(3, 1, 4, 0, 2));
}

TEST(ListRulesTest, APinnedArmHasItsRankAndTheOthersTheirOrder) {
  const auto list = List({.pins = {{.rank = 1, .position = 2}}, .limits = {}}, 4);
  EXPECT_THAT(Positions(list), ElementsAre(3, 2, 1, 4));
  EXPECT_THAT(First(list), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Given(list), ElementsAre(1, 1, 1, 1));
}

TEST(ListRulesTest, AnArmPinnedToTheFirstRankIsFirstForSure) {
  const auto list = List({.pins = {{.rank = 0, .position = 2}}, .limits = {}}, 3);
  EXPECT_THAT(Positions(list), ElementsAre(2, 3, 1));
  EXPECT_THAT(First(list), ElementsAre(1, 0, 0));
}

TEST(ListRulesTest, PinsBeyondTheArmsComeLast) {
  const auto list = List({.pins = {{.rank = 9, .position = 3}, {.rank = 7, .position = 1}}}, 5);
  EXPECT_THAT(Positions(list), ElementsAre(4, 0, 2, 1, 3));
}

TEST(ListRulesTest, AtMostSoManyOfAClass) {
  const auto list = List({.limits = {{.classes = {0, 0, 1, 0, 1}, .count = 1}}}, 5);
  EXPECT_THAT(Positions(list), ElementsAre(3, 4));
  EXPECT_THAT(First(list), ElementsAre(1, 0));
}

TEST(ListRulesTest, ArmsOfNoClassAreNotLimited) {
  EXPECT_THAT(Positions(List({.limits = {{.classes = {-1, 0, -1, 0, 0}, .count = 2}}}, 5)),
              ElementsAre(3, 1, 0, 2));
}

TEST(ListRulesTest, EveryLimitHolds) {
  EXPECT_THAT(Positions(List({.limits = {{.classes = {0, 0, 1, 0, 1}, .count = 2},
                                         {.classes = {-1, -1, 0, 0, -1}, .count = 1}}},
                             5)),
              ElementsAre(3, 1, 4));
}

TEST(ListRulesTest, PinnedArmsCountFromTheStart) {
  // The pinned arm 2 has the class of arm 4.
  const auto list = List(
      {.pins = {{.rank = 3, .position = 2}}, .limits = {{.classes = {0, 1, 2, 3, 2}, .count = 1}}},
      4);
  EXPECT_THAT(Positions(list), ElementsAre(3, 1, 0, 2));
  // Here it has that of all: the pin moves up, and is first for sure.
  const auto alone = List(
      {.pins = {{.rank = 3, .position = 2}}, .limits = {{.classes = {0, 0, 0, 0, 0}, .count = 1}}},
      4);
  EXPECT_THAT(Positions(alone), ElementsAre(2));
  EXPECT_THAT(First(alone), ElementsAre(1));
}

// A uniform share: the law of a rank is that of the arms which the rules leave.
TEST(ListRulesTest, ProbabilitiesAreThoseOfTheArmsThatAreLeft) {
  const auto rule = MakeUniformMix(0.4);
  const std::vector<double> uniforms = {0.99, 0.99, 0.99};
  const auto list = DrawList(*rule, Arms(),
                             {.pins = {{.rank = 1, .position = 0}},
                              .limits = {{.classes = {-1, 0, -1, 0, -1}, .count = 1}}},
                             uniforms);
  // Four arms for the first rank, 0.1 each, and 0.6 for the best, arm 3. 0.99 falls on arm 4.
  EXPECT_THAT(Positions(list), ElementsAre(4, 0, 3));
  EXPECT_DOUBLE_EQ(list[0].first, 0.1);
  EXPECT_DOUBLE_EQ(list[0].given, 0.1);
  EXPECT_EQ(list[1].first, 0);
  EXPECT_EQ(list[1].given, 1);
  // Arms 1, 2, 3 for the last: 0.4 / 3 each, and 0.6 for arm 3, on which 0.99 falls.
  EXPECT_DOUBLE_EQ(list[2].given, 0.6 + 0.4 / 3);
  EXPECT_DOUBLE_EQ(list[2].first, 0.7);
}

}  // namespace
}  // namespace bandana
