// Texts of decisions in the formats of others.
#include <string>

#include "common/decisions/dsjson_writer.h"
#include "common/decisions/obp_rows.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "tests/support/logged_decisions.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

std::string ObpText(const LoggedDecision& decision) {
  ObpRows rows;
  std::string text;
  rows.Append(decision, text);
  rows.End(text);
  return text;
}

nlohmann::json Dsjson(const LoggedDecision& decision) {
  std::string text;
  AppendDsjsonLine(decision, text);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = ParseJson(text, {.unique_keys = true});
  EXPECT_THAT(json, IsOk());
  return json.ok() ? *json : nlohmann::json();
}

TEST(ObpRows, WritesTheColumnsOfTheOpenBanditDataset) {
  EXPECT_EQ(
      ObpText(PlainDecision()),
      ",timestamp,item_id,position,click,propensity_score,decision,slot,list,instance,epoch,"
      "version,offered,arms,x,p,q,chosen,reward,range,released,baseline,context,user\n"
      "0,2026-11-27T03:04:05.25Z,9,1,0.5,0.75,d1,0,1,,2,7,2,\"[4,9]\",,\"[0.25,0.75]\",,1,0.5,"
      ",,,,\n");
}

TEST(ObpRows, QuotesCellsAndSpreadsTheContext) {
  const std::string text = ObpText(FullDecision());
  EXPECT_THAT(text, HasSubstr(",context,user,user_feature_age,user_feature_city\n"));
  EXPECT_THAT(text, HasSubstr(",\"u\"\"1\n\xC3\xA9\",3,\"Paris, Texas\"\n"));
  EXPECT_THAT(text,
              HasSubstr("\n0,2023-11-14T22:13:20.123456789Z,a\\b,1,0.30000000000000004,0.1,"));
  EXPECT_THAT(text, HasSubstr("\n1,2023-11-14T22:13:20.123456789Z,4294967295,2,,0.1,00ff,1,2,ab,"));
}

TEST(ObpRows, HasAHeaderWithoutDecisions) {
  ObpRows rows;
  std::string text;
  rows.End(text);
  EXPECT_THAT(text, StartsWith(",timestamp,item_id,"));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(Dsjson, RanksTheChosenActionFirstAndCountsFromOne) {
  const nlohmann::json line = Dsjson(PlainDecision());
  EXPECT_EQ(line["_label_cost"], -0.5);
  EXPECT_EQ(line["_label_probability"], 0.75);
  EXPECT_EQ(line["_label_Action"], 2);
  EXPECT_EQ(line["_labelIndex"], 1);
  EXPECT_EQ(line["a"], nlohmann::json({2, 1}));
  EXPECT_EQ(line["p"], nlohmann::json({0.75, 0.25}));
  EXPECT_EQ(line["EventId"], "d1");
  EXPECT_EQ(line["Timestamp"], "2026-11-27T03:04:05.25Z");
  EXPECT_EQ(line["c"]["_multi"].size(), 2u);
  EXPECT_EQ(line["c"]["_multi"][1]["i"]["id"], "9");
  EXPECT_FALSE(line.contains("_skipLearn"));
}

TEST(Dsjson, HasVwPassOverDecisionsWithoutAReward) {
  LoggedDecision decision = PlainDecision();
  decision.slots[0].state = RewardState::kPending;
  const nlohmann::json line = Dsjson(decision);
  EXPECT_EQ(line["_skipLearn"], true);
  EXPECT_FALSE(line.contains("o"));
}

TEST(Dsjson, WritesListsAsSlotsWithOutcomes) {
  LoggedDecision decision = PlainDecision();
  LoggedSlot second = decision.slots[0];
  second.ids = {4, 5};
  second.p = {0.5, 0.5};
  second.chosen_p = 0.5;
  second.reward = 0;
  decision.slots.push_back(second);
  const nlohmann::json line = Dsjson(decision);
  EXPECT_FALSE(line.contains("_label_cost"));
  ASSERT_EQ(line["c"]["_multi"].size(), 3u);  // 4, 9, 5
  EXPECT_EQ(line["c"]["_slots"].size(), 2u);
  ASSERT_EQ(line["_outcomes"].size(), 2u);
  EXPECT_EQ(line["_outcomes"][0]["_a"], nlohmann::json({1, 0}));  // these count from 0
  EXPECT_EQ(line["_outcomes"][1]["_a"], nlohmann::json({2, 0}));
  EXPECT_EQ(line["_outcomes"][1]["_p"], nlohmann::json({0.5, 0.5}));
  EXPECT_EQ(line["_outcomes"][1]["_label_cost"].dump(), "0");  // not -0
}

TEST(Dsjson, LeavesOutOfTheContextWhatVwDoesNotRead) {
  LoggedDecision decision = PlainDecision();
  decision.context = R"({"tags":["rock","pop"],"none":null,"age":3,"home":{"city":"Paris"}})";
  EXPECT_EQ(
      Dsjson(decision)["c"]["context"],
      nlohmann::json::parse(R"({"tags":{"rock":1,"pop":1},"age":3,"home":{"city":"Paris"}})"));
}

TEST(Dsjson, KeepsWhatTheFormatHasNoPlaceFor) {
  const nlohmann::json own = Dsjson(FullDecision())["bandana"];
  EXPECT_EQ(own["range"], nlohmann::json({-1, 2.5}));
  EXPECT_EQ(own["offered"], nlohmann::json({5, 5}));
  EXPECT_EQ(own["released"][0]["epsilon"], 2);
  EXPECT_TRUE(own["released"][1].is_null());
  EXPECT_EQ(own["q"][0], nlohmann::json({0.1234567, -1}));
}

}  // namespace
}  // namespace bandana::testing
