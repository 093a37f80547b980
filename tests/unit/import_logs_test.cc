// Logs of other programs, imported: tables by named columns, and what is passed over.
#include <fstream>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/decisions/dsjson_writer.h"
#include "common/decisions/jsonl_reader.h"
#include "common/decisions/obp_rows.h"
#include "tests/support/logged_decisions.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/decisions/decision_sink.h"
#include "tools/decisions/packed_file.h"
#include "tools/import/csv_decisions.h"
#include "tools/import/log_command.h"

namespace bandana::testing {
namespace {

constexpr char kObpHeader[] =
    ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0,"
    "user-item_affinity_7\n";

class ImportLogsTest : public ::testing::Test {
 protected:
  // Imports the text; what it tells goes to told_.
  absl::StatusOr<std::string> Import(const std::string& text, LogCommand command) {
    command.in = folder_.File("in");
    command.out = folder_.File("out");
    if (command.law.empty()) command.law = "logged";
    std::ofstream(command.in, std::ios::binary) << text;
    told_.clear();
    return RunLogCommand(command, [&](std::string_view line) { told_.emplace_back(line); });
  }
  std::string Get(const std::string& name) {
    return ReadFile(folder_.File("out/" + name), 1 << 20).value_or("");
  }
  std::vector<LoggedDecision> Log() {
    std::vector<LoggedDecision> decisions;
    auto bytes = OpenPackedFile(folder_.File("out/log.jsonl"));
    if (!bytes.ok()) return decisions;
    JsonlReader reader(*std::move(bytes));
    LoggedDecision decision;
    DecisionFault fault;
    for (;;) {
      const auto next = reader.Read(decision, fault);
      EXPECT_THAT(next, IsOk());
      if (!next.ok() || *next == DecisionStream::Next::kEnd) return decisions;
      EXPECT_EQ(*next, DecisionStream::Next::kDecision) << fault.message;
      decisions.push_back(decision);
    }
  }

  const TempDir folder_;
  std::vector<std::string> told_;
};

TEST_F(ImportLogsTest, ReadsTheOpenBanditDataset) {
  const auto summary = Import(std::string(kObpHeader) +
                                  "0,2019-11-24 00:00:11.110000+00:00,7,3,1,0.25,abc,0.0,2.0\n"
                                  "1,2019-11-24 00:00:12+09:00,12,1,0,0.125,d'e,1.0,0.0\n",
                              {.format = "obp"});
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=2 arms=2 skipped=0 law=chosen ")));
  EXPECT_THAT(told_, ElementsAre(StartsWith("only the propensity of the chosen arm is known")));
  const std::vector<LoggedDecision> log = Log();
  ASSERT_THAT(log, SizeIs(2));
  EXPECT_EQ(log[0].id, "2");
  EXPECT_EQ(log[0].time, absl::FromUnixMillis(1'574'553'611'110));
  EXPECT_EQ(log[0].context, R"({"position":3,"user_feature_0":"abc","user-item_affinity_7":2.0})");
  EXPECT_EQ(log[1].time, absl::FromUnixSeconds(1'574'553'612 - 9 * 3600));
  const LoggedSlot& slot = log[1].slots[0];
  EXPECT_THAT(slot.ids, ElementsAre(7, 12));
  EXPECT_THAT(slot.p, IsEmpty());
  EXPECT_EQ(slot.chosen_p, 0.125);
  EXPECT_EQ(slot.chosen, 1u);
  EXPECT_EQ(slot.reward, 0);
  EXPECT_EQ(Get("arms.tsv"), "id\ttags\tfeatures\n7\t-\t1\n12\t-\t1\n");
  EXPECT_THAT(Get("server.textproto"), HasSubstr("reward_binary: true"));
}

TEST_F(ImportLogsTest, ReadsLaterNamesOfThePropensity) {
  const auto summary = Import(
      "timestamp,item_id,position,click,action_prob\n"
      "2019-11-24T00:00:11Z,7,3,1,0.25\n2019-11-24T00:00:11Z,8,3,1,0.25\n",
      {.format = "obp"});
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=2 ")));
}

TEST_F(ImportLogsTest, GivesAllArmsTheirShareByAUniformLaw) {
  const auto summary =
      Import("who,what,got\n1,a,1\n2,b,\n3,c,0\n",
             {.format = "csv", .columns = "decision=who,arm=what,reward=got", .law = "uniform"});
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=3 arms=3 skipped=0 law=all ")));
  EXPECT_THAT(told_, IsEmpty());
  const std::vector<LoggedDecision> log = Log();
  ASSERT_THAT(log, SizeIs(3));
  EXPECT_EQ(log[1].id, "2");
  EXPECT_THAT(log[1].slots[0].names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(log[1].slots[0].p, Each(1.0 / 3));
  EXPECT_EQ(log[1].slots[0].state, RewardState::kUnreported);
  EXPECT_EQ(Get("arms.tsv"),
            "id\ttags\tfeatures\tgroups\tname\n0\t-\t1\t-\ta\n1\t-\t1\t-\tb\n2\t-\t1\t-\tc\n");
}

TEST_F(ImportLogsTest, MakesListsOfRowsWithSlots) {
  const auto summary = Import(
      "d,s,a,r,p,hour\nx,1,1,0,0.5,7\nx,2,2,1,0.25,7\ny,1,3,1,1,8\nz,2,1,0,0.5,9\nz,3,1,0,1,9\n"
      "v,1,1,0,0.5,9\nv,3,2,0,0.5,9\n",
      {.format = "csv", .columns = "decision=d,slot=s,arm=a,reward=r,propensity=p,context=hour"});
  EXPECT_THAT(summary,
              IsOkAndHolds(StartsWith("decisions=2 arms=3 skipped=4 skipped_slot_missing=4 ")));
  EXPECT_THAT(told_, ElementsAre("line 5: s: must be 1, got 2", "line 8: s: must be 2, got 3",
                                 StartsWith("only the propensity")));
  const std::vector<LoggedDecision> log = Log();
  ASSERT_THAT(log, SizeIs(2));
  ASSERT_THAT(log[0].slots, SizeIs(2));
  EXPECT_EQ(log[0].slots[1].chosen, 1u);
  EXPECT_EQ(log[0].slots[1].chosen_p, 0.25);
  EXPECT_EQ(log[0].context, R"({"hour":7})");
}

TEST_F(ImportLogsTest, AUniformLawOfAListLeavesOutTheArmsBefore) {
  EXPECT_THAT(
      Import("d,s,a,r\nx,0,1,0\nx,1,2,1\ny,0,3,1\nz,0,1,1\nz,1,1,1\n",
             {.format = "csv", .columns = "decision=d,slot=s,arm=a,reward=r", .law = "uniform"}),
      IsOkAndHolds(StartsWith("decisions=2 arms=3 skipped=2 skipped_propensity=2 ")));
  EXPECT_THAT(told_, ElementsAre("line 5: slot 1: p: must be in (0, 1] for the chosen arm, got 0"));
  const std::vector<LoggedDecision> log = Log();
  EXPECT_THAT(log[0].slots[0].p, Each(1.0 / 3));
  EXPECT_THAT(log[0].slots[1].p, ElementsAre(0, 0.5, 0.5));
}

TEST_F(ImportLogsTest, TellsWhatItPassesOver) {
  const auto summary = Import(
      "d,a,r,p,t\n"
      "1,x,1,0.5,2026-11-27T03:04:05\n"  // sound
      "2,x,1,0,5\n3,x,1,1.5,5\n4,x,1,,5\n5,x,1,nan,5\n6,x,1,-0.5,5\n"
      "7,x,2,0.5,5\n8,x,nan,0.5,5\n9,x,inf,0.5,5\n1,y,0,0.5,5\n"
      ",y,0,0.5,5\n11,,0,0.5,5\n12,y,0,0.5,noon\n13,y\n14,y,0,0.5,1500000000.5\n15,y,0,0.01",
      {.format = "csv", .columns = "decision=d,arm=a,reward=r,propensity=p,time=t"});
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=2 arms=2 skipped=14 skipped_cut_line=1 "
                                               "skipped_duplicate=1 skipped_malformed=4 "
                                               "skipped_propensity=5 skipped_reward=3 ")));
  EXPECT_THAT(
      told_,
      ElementsAre("line 3: p: must be in (0, 1] for the chosen arm, got 0",
                  "line 4: p: must be in (0, 1] for the chosen arm, got 1.5",
                  "line 5: p: must be a number",
                  "line 6: p: must be in (0, 1] for the chosen arm, got nan",
                  "line 7: p: must be in (0, 1] for the chosen arm, got -0.5",
                  "line 8: reward: must be in [0, 1]", "line 9: r: must be a finite number",
                  "line 10: r: must be a finite number", "line 11: the decision stands twice",
                  "line 12: d: must be a text of 1 to 128 bytes", "line 13: a: is missing",
                  StartsWith("line 14: t: must be a time as"),
                  StartsWith("line 15: must have as many cells as the header, 5, got 2"),
                  StartsWith("line 17: must have as many cells as the header, 5, got 4"),
                  StartsWith("only the propensity of the chosen arm is known")));
  EXPECT_EQ(Log()[1].time, absl::FromUnixMillis(1'500'000'000'500));
}

TEST_F(ImportLogsTest, TellsTwentyFaultsAndCountsTheOthers) {
  std::string text = "a,r,p\nx,1,0.5\ny,1,0.5\n";
  for (int i = 0; i < 50; ++i) text += "x,1,2\n";
  const auto summary = Import(text, {.format = "csv", .columns = "arm=a,reward=r,propensity=p"});
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=2 arms=2 skipped=50 ")));
  EXPECT_THAT(told_, SizeIs(22));
}

TEST_F(ImportLogsTest, RefusesLogsThatSayNothing) {
  const LogCommand csv{.format = "csv", .columns = "arm=a,reward=r,propensity=p"};
  EXPECT_THAT(Import("a,r,p\nx,1,2\n", csv),
              StatusIs(Code::kFailedPrecondition, "no decision can be judged, 1 faults"));
  EXPECT_THAT(Import("a,r,p\nx,1,1\nx,0,1\n", csv),
              StatusIs(Code::kFailedPrecondition, "has a single arm, so it says nothing"));
  EXPECT_THAT(Import("a,r\nx,1\n", csv),
              StatusIs(Code::kInvalidArgument, "line 1: the table has no column \"p\""));
  EXPECT_THAT(Import("", csv), StatusIs(Code::kInvalidArgument, "line 1: a header is missing"));
  EXPECT_THAT(Import("nonsense\n", {.format = "dsjson"}),
              StatusIs(Code::kFailedPrecondition, "no decision can be judged"));
  EXPECT_FALSE(ReadFile(folder_.File("out/log.jsonl"), 1 << 20).ok());
}

TEST_F(ImportLogsTest, RefusesOptionsThatContradict) {
  const auto message = [&](LogCommand command, const std::string& part) {
    EXPECT_THAT(Import("a,r,p\nx,1,1\n", command), StatusIs(Code::kInvalidArgument, part));
  };
  message({.format = "csv", .columns = "reward=r"}, "columns: arm and reward must be named");
  message({.format = "csv", .columns = "arm=a,reward=r"}, "columns: propensity must be named");
  message({.format = "csv", .columns = "arm=a,reward=r,propensity=p", .law = "uniform"},
          "--law uniform: the columns name a propensity");
  message({.format = "csv", .columns = "arm=a,reward=r,slot=p"}, "columns: slot needs decision");
  message({.format = "csv", .columns = "arm=a,reward=r,price=p"},
          "columns: must name arm, reward, propensity, decision, slot, time, user or context");
  message({.format = "csv", .columns = "arm=a,arm=r"}, "columns: arm stands twice");
  message({.format = "csv", .columns = "arm"}, "columns: must be PART=COLUMN,..., got \"arm\"");
  message({.format = "dsjson", .law = "uniform"}, "--law uniform: the log has propensities");
  message({.format = "dsjson", .law = "flat"}, "--law must be logged, chosen or uniform");
  message({.format = "dsjson", .range = {1, 1}}, "--reward_min must be below --reward_max");
}

TEST_F(ImportLogsTest, TakesArmsOfATableOfTheirOwn) {
  const std::string arms = folder_.File("items.csv");
  std::ofstream(arms) << "item_id,item_feature_0\n0,0.5\n1,0.25\n2,0.75\n";
  const LogCommand command{.format = "obp", .arms = arms, .law = "uniform"};
  const auto summary = Import("timestamp,item_id,position,click\n5,0,1,1\n5,9,1,1\n", command);
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=1 arms=3 skipped=1 ")));
  EXPECT_THAT(told_, ElementsAre("line 3: item_id: is not one of the arms"));
  EXPECT_THAT(Log()[0].slots[0].p, ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3));
}

TEST_F(ImportLogsTest, NamesAMillionArmsByPosition) {
  const std::string arms = folder_.File("items.csv");
  {
    std::ofstream file(arms);
    file << "a\n";
    for (int i = 1; i <= 1'000'000; ++i) file << i * 3 << '\n';
  }
  const LogCommand command{
      .format = "csv", .columns = "arm=a,reward=r", .arms = arms, .law = "uniform"};
  const auto summary = Import("a,r\n3,1\n3000000,0\n", command);
  EXPECT_THAT(summary, IsOkAndHolds(StartsWith("decisions=2 arms=1000000 skipped=0 law=chosen ")));
  const std::vector<LoggedDecision> log = Log();
  ASSERT_THAT(log, SizeIs(2));
  EXPECT_EQ(log[1].slots[0].offered, 1'000'000u);
  EXPECT_EQ(log[1].slots[0].chosen, 999'999u);
  EXPECT_EQ(log[1].slots[0].chosen_p, 1e-6);
  EXPECT_EQ(log[1].slots[0].arms(), 0u);
  std::ofstream(arms, std::ios::app) << "1\n";
  EXPECT_THAT(Import("a,r\n3,1\n", command),
              StatusIs(Code::kResourceExhausted, "line 1000002: a: there must be at most 1000000"));
}

TEST_F(ImportLogsTest, ReadsExportsOfItsOwn) {
  LoggedDecision second = PlainDecision();
  second.id = "d2";
  second.slots[0].reward = 0.25;
  ObpRows rows;
  std::string table, lines;
  for (const LoggedDecision& decision : {PlainDecision(), second}) {
    rows.Append(decision, table);
    AppendDsjsonLine(decision, lines);
  }
  EXPECT_THAT(Import(table, {.format = "obp"}),
              IsOkAndHolds(StartsWith("decisions=2 arms=2 skipped=0 law=all ")));
  EXPECT_EQ(Log()[0].slots, PlainDecision().slots);
  EXPECT_EQ(Log()[1].slots, second.slots);
  EXPECT_EQ(Get("arms.tsv"), "id\ttags\tfeatures\n4\t-\t1\n9\t-\t1\n");
  EXPECT_THAT(Get("server.textproto"), Not(HasSubstr("reward_binary")));
  EXPECT_THAT(
      Import(lines + lines, {.format = "dsjson"}),
      IsOkAndHolds(StartsWith("decisions=2 arms=2 skipped=2 skipped_duplicate=2 law=all ")));
  EXPECT_THAT(Log()[0].slots[0].names, ElementsAre("4", "9"));
}

}  // namespace
}  // namespace bandana::testing
