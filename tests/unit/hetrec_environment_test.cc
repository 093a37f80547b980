// The recorded environment on a tiny made-up folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/environments/environment.h"
#include "tools/environments/hetrec.h"
#include "tools/environments/hetrec_data.h"

namespace bandana::testing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class HetrecEnvironmentTest : public ::testing::Test {
 protected:
  HetrecEnvironmentTest() {
    Write("arms.tsv",
          "# id tags features\n10\trock,pop\t1 0\n20\t-\t0 1\n30\tjazz\t0.6 0.8\n40\t-\t-1 "
          "0\n50\t-\t0 -1\n");
    Write("users.tsv", "7\t0\n8\t1\n9\t1\n");
    Write("items.tsv", "# user arm\n7\t10\n7\t20\n8\t30\n8\t99\n");
    Write("events.tsv", "# user arm day\n8\t30\t100\n7\t10\t101\n7\t99\t102\n7\t40\t103\n");
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.File(name)) << text;
  }

  absl::StatusOr<std::unique_ptr<Environment>> Make(const std::string& suffix,
                                                    std::vector<std::string> settings = {
                                                        "pool=3"}) {
    return MakeEnvironment("hetrec:" + folder_.path() + suffix, *Settings::Parse(settings), 4);
  }

  TempDir folder_;
};

TEST_F(HetrecEnvironmentTest, ReadsWhatUsersHadFromItemsAndEvents) {
  const absl::StatusOr<HetrecData> data = ReadHetrec(folder_.path());
  ASSERT_THAT(data, IsOk());
  EXPECT_EQ(data->dimension, 2);
  EXPECT_THAT(data->arms, ElementsAre(10, 20, 30, 40, 50));
  ASSERT_EQ(data->users.size(), 2u);  // 9 had nothing
  EXPECT_EQ(data->users[0].id, "7");
  EXPECT_THAT(data->users[0].items, ElementsAre(0, 1));
  EXPECT_THAT(data->users[0].tagged, ElementsAre(0, 3));
  EXPECT_THAT(data->users[1].items, ElementsAre(2));
  EXPECT_THAT(data->users[1].tagged, ElementsAre(2));
  ASSERT_EQ(data->events.size(), 3u);  // 99 has no features
  EXPECT_EQ(data->events[0].user, 1u);
  EXPECT_EQ(data->events[0].arm, 2u);
}

TEST_F(HetrecEnvironmentTest, TaggedArmsStandForMissingItems) {
  std::remove(folder_.File("items.tsv").c_str());
  const absl::StatusOr<HetrecData> data = ReadHetrec(folder_.path());
  ASSERT_THAT(data, IsOk());
  ASSERT_EQ(data->users.size(), 2u);
  EXPECT_THAT(data->users[1].items, ElementsAre(0, 3));  // user 7, by first mention
}

TEST_F(HetrecEnvironmentTest, OffersOnePositiveAndDistinctNegatives) {
  const std::map<std::string, std::set<std::uint32_t>> had = {{"7", {10, 20}}, {"8", {30}}};
  const auto environment = *Make("");
  EXPECT_EQ(environment->info().form, ArmForm::kCatalogue);
  std::map<std::string, int> turns;
  std::map<std::uint32_t, int> positives_of_seven;
  std::map<int, int> positions;
  Choice decision;
  for (int i = 0; i < 3000; ++i) {
    environment->DecisionAt(i, decision);
    ++turns[decision.user];
    ASSERT_EQ(decision.arm_ids.size(), 3u);
    EXPECT_EQ(std::set(decision.arm_ids.begin(), decision.arm_ids.end()).size(), 3u);
    EXPECT_NEAR(decision.MeanExpected(), 1.0 / 3, 1e-15);
    for (int a = 0; a < 3; ++a) {
      const bool positive = had.at(decision.user).contains(decision.arm_ids[a]);
      EXPECT_EQ(decision.expected[a], positive ? 1 : 0);
      EXPECT_EQ(environment->RewardAt(i, decision, a), positive ? 1 : 0);
      if (positive) {
        ++positions[a];
        if (decision.user == "7") ++positives_of_seven[decision.arm_ids[a]];
      }
    }
  }
  // Users are equally likely (sd 27), so are the items of one user (sd 24) and the positions (sd
  // 26): six sd.
  EXPECT_NEAR(turns["7"], 1500, 165);
  for (const auto& [arm, count] : positives_of_seven) EXPECT_NEAR(count, 750, 6 * 24);
  for (const auto& [position, count] : positions) EXPECT_NEAR(count, 1000, 6 * 26);
}

TEST_F(HetrecEnvironmentTest, PopularOthersAreWhatUsersHad) {
  // Items: 7 has 10 and 20; 8 has 30; 9 has 10, 40 and 50.
  Write("items.tsv", "7\t10\n7\t20\n8\t30\n9\t10\n9\t40\n9\t50\n");
  const std::map<std::string, std::set<std::uint32_t>> had = {
      {"7", {10, 20}}, {"8", {30}}, {"9", {10, 40, 50}}};
  const auto environment = *Make("", {"pool=2", "others=popular"});
  std::map<std::string, std::map<std::uint32_t, int>> others;
  Choice decision;
  for (int i = 0; i < 9'000; ++i) {
    environment->DecisionAt(i, decision);
    ASSERT_EQ(decision.arm_ids.size(), 2u);
    for (int a = 0; a < 2; ++a) {
      const bool positive = had.at(decision.user).contains(decision.arm_ids[a]);
      EXPECT_EQ(decision.expected[a], positive ? 1 : 0);
      if (!positive) ++others[decision.user][decision.arm_ids[a]];
    }
  }
  // In some 3,000 decisions of 8, whose own item is rejected: 10 has 1/6 + 1/9 of the draws of
  // users' items, 20 1/6, 40 and 50 1/9 each, in all 2/3. Six sd, 27, and a sixth of them for the
  // number of decisions.
  const auto& beside = others["8"];
  int count = 0;
  for (const auto& [arm, times] : beside) count += times;
  EXPECT_NEAR(count, 3'000, 6 * 45);
  EXPECT_NEAR(beside.at(10), count * 5 / 12, 6 * 27);
  EXPECT_NEAR(beside.at(20), count * 3 / 12, 6 * 24);
  EXPECT_NEAR(beside.at(40), count * 2 / 12, 6 * 21);
  EXPECT_NEAR(beside.at(50), count * 2 / 12, 6 * 21);
}

TEST_F(HetrecEnvironmentTest, PopularOthersNeedOtherUsersItems) {
  // User 7 leaves what 8 had.
  EXPECT_THAT(Make("", {"pool=4", "others=popular"}),
              StatusIs(kInvalid, "needs 3 arms that a user never had; one user left only 1 of 3"));
  EXPECT_THAT(Make("", {"others=some"}), StatusIs(kInvalid, "uniform, popular"));
}

TEST_F(HetrecEnvironmentTest, ReadsUsersWithGroups) {
  const auto plain = *Make("");
  Write("users.tsv", "user\tnode\tlevel1\n7\t0\t-\n8\t1\t3\n9\t1\t3\n");
  const auto grouped = Make("");
  ASSERT_THAT(grouped, IsOk());
  Choice a;
  Choice b;
  for (int i = 0; i < 50; ++i) {
    plain->DecisionAt(i, a);
    (*grouped)->DecisionAt(i, b);
    EXPECT_EQ(a.user, b.user);
    EXPECT_EQ(a.arm_ids, b.arm_ids);
  }
}

TEST_F(HetrecEnvironmentTest, ReplayFollowsTheFile) {
  const auto environment = *Make(":replay");
  std::vector<std::string> users;
  Choice decision;
  for (int i = 0; i < 6; ++i) {
    environment->DecisionAt(i, decision);
    users.push_back(decision.user);
  }
  EXPECT_THAT(users, ElementsAre("8", "7", "7", "8", "7", "7"));
}

TEST_F(HetrecEnvironmentTest, EventsOfferNothingElseThatTheUserHadOrTagged) {
  const std::map<std::string, std::set<std::uint32_t>> had = {{"7", {10, 20, 40}}, {"8", {30}}};
  const auto environment = *Make(":replay");
  Choice decision;
  for (int i = 0; i < 300; ++i) {
    environment->DecisionAt(i, decision);
    int known = 0;
    for (const std::uint32_t arm : decision.arm_ids) known += had.at(decision.user).contains(arm);
    EXPECT_EQ(known, 1);
  }
}

TEST_F(HetrecEnvironmentTest, EventsComeOnceARound) {
  const auto environment = *Make("", {"pool=3", "draw=events"});
  Choice decision;
  for (int round = 0; round < 20; ++round) {
    std::multiset<std::string> users;
    for (int i = 0; i < 3; ++i) {
      environment->DecisionAt(3 * round + i, decision);
      users.insert(decision.user);
    }
    EXPECT_THAT(users, ElementsAre("7", "7", "8"));
  }
}

TEST_F(HetrecEnvironmentTest, RefusesPoolsThatAUserCannotFill) {
  EXPECT_THAT(Make("", {}), StatusIs(kInvalid, "a pool of 25 needs 24 arms"));
  EXPECT_THAT(Make("", {"pool=5"}), StatusIs(kInvalid, "a pool of 5"));
  EXPECT_THAT(Make("", {"pool=4"}), IsOk());
  EXPECT_THAT(Make(":replay", {"pool=4"}), StatusIs(kInvalid, "a pool of 4"));
}

TEST_F(HetrecEnvironmentTest, NamesFileAndLineOfAMistake) {
  const struct {
    const char* file;
    const char* text;
    const char* message;
  } kCases[] = {
      {"arms.tsv", "10\t-\t1 0\n20\t-\t1\n", "arms.tsv:2: an arm has 1 features"},
      {"arms.tsv", "10\t-\t1 0\n10\t-\t1 0\n", "arms.tsv:2: arm 10 is listed twice"},
      {"arms.tsv", "10\t-\t1 nan\n", "arms.tsv:1: feature 1"},
      {"arms.tsv", "x\t-\t1 0\n", "arms.tsv:1: arm id"},
      {"arms.tsv", "10\t1 0\n", "arms.tsv:1: expected 3 fields"},
      {"arms.tsv", "# nothing\n", "arms.tsv: no arms"},
      {"users.tsv", "7\t0\n7\t1\n", "users.tsv: line 2: a user id that was given before"},
      {"users.tsv", "7\t-1\n", "users.tsv: line 1: the node"},
      {"users.tsv", "user\tNode\n", "users.tsv: line 1: column 2"},
      {"items.tsv", "7\t10\nunknown\t10\n", "items.tsv:2: user unknown is not in users.tsv"},
      {"items.tsv", "7\t99\n", "items.tsv: no item"},
      {"events.tsv", "7\t10\tyesterday\n", "events.tsv:1: time"},
      {"events.tsv", "7\t10\t1\n3\t10\t1\n", "events.tsv:2: user 3"},
      {"events.tsv", "7\t99\t1\n", "events.tsv: no event"},
  };
  for (const auto& c : kCases) {
    std::ifstream old(folder_.File(c.file));
    const std::string before((std::istreambuf_iterator<char>(old)), {});
    Write(c.file, c.text);
    EXPECT_THAT(ReadHetrec(folder_.path()), StatusIs(kInvalid, c.message)) << c.text;
    Write(c.file, before);
  }
}

TEST_F(HetrecEnvironmentTest, MissingFolderIsNotFound) {
  EXPECT_THAT(MakeEnvironment("hetrec:" + folder_.path() + "/none", {}, 1),
              StatusIs(absl::StatusCode::kNotFound, "arms.tsv"));
}

}  // namespace
}  // namespace bandana::testing
