// examples/judge over exported tables, beside bandana-ctl evaluate over the same decisions.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "tests/support/child_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/decisions/decision_sink.h"

namespace bandana::testing {
namespace {

struct Shape {
  std::uint64_t seed = 1;
  std::size_t slots = 1;
  double epsilon = 0;  // above 0: rewards are released
  bool whole = true;   // the law of all arms is in the line
  bool clean = true;   // else single arms, duplicates, open windows and lines without a report
  bool cut = false;    // a quarter of the lines lacks an arm
};

void DrawReward(const Shape& shape, double mean, TestRng& rng, LoggedSlot& slot) {
  const bool click = rng.Uniform() < mean;
  slot.state = RewardState::kKnown;
  slot.reward = click;
  if (shape.epsilon == 0) return;
  const double low = -1 / (std::exp(shape.epsilon) - 1);
  slot.released = ReleaseLaw{shape.epsilon, low, 1 - low, false};
  const bool told = (rng.Uniform() < 1 / (1 + std::exp(-shape.epsilon))) == click;
  slot.reward = told ? 1 - low : low;
}

LoggedSlot DrawSlot(const Shape& shape, const std::vector<std::uint32_t>& taken, TestRng& rng) {
  LoggedSlot slot;
  slot.offered = 4;
  double sum = 0;
  for (std::uint32_t arm = 0; arm < 4; ++arm) {
    slot.ids.push_back(10 + arm);
    slot.q.push_back(0.1 + 0.2 * arm * rng.Uniform());
    const bool gone = std::find(taken.begin(), taken.end(), arm) != taken.end();
    slot.p.push_back(gone ? 0 : 0.2 + rng.Uniform());
    sum += slot.p.back();
  }
  for (double& p : slot.p) p /= sum;
  double rest = rng.Uniform();
  while (slot.chosen < 3 && (rest -= slot.p[slot.chosen]) >= 0) ++slot.chosen;
  while (slot.p[slot.chosen] == 0) --slot.chosen;
  slot.chosen_p = slot.p[slot.chosen];
  DrawReward(shape, 0.2 + 0.15 * slot.chosen, rng, slot);
  if (!shape.whole) {
    slot.p.clear();
    slot.q.clear();
  }
  return slot;
}

// The first arm that was not chosen is on offer, and not in the line.
void CutOne(LoggedSlot& slot) {
  const std::ptrdiff_t gone = slot.chosen == 0 ? 1 : 0;
  slot.ids.erase(slot.ids.begin() + gone);
  slot.p.erase(slot.p.begin() + gone);
  slot.q.erase(slot.q.begin() + gone);
  if (gone == 0) --slot.chosen;
}

std::vector<LoggedDecision> Decisions(const Shape& shape) {
  TestRng rng(shape.seed);
  std::vector<LoggedDecision> decisions;
  for (int number = 0; number < 600; ++number) {
    LoggedDecision& decision = decisions.emplace_back();
    decision.id = absl::StrCat("d", number);
    decision.time = absl::FromUnixMillis(1'795'748'645'000 + number * 250);
    decision.instance = "5a";
    std::vector<std::uint32_t> taken;
    for (std::size_t at = 0; at < shape.slots; ++at) {
      decision.slots.push_back(DrawSlot(shape, taken, rng));
      taken.push_back(decision.slots.back().chosen);
    }
    if (shape.cut && number % 4 == 0) CutOne(decision.slots[0]);
    if (shape.clean) continue;
    LoggedSlot& slot = decision.slots[0];
    if (number % 50 == 7) decision.id = "d1";
    if (number % 50 == 9) slot.state = RewardState::kUnreported;
    if (number >= 580 && number % 2 == 0) slot.state = RewardState::kPending;
    if (number % 50 == 11) {
      slot = DrawSlot(shape, {1, 2, 3}, rng);
      slot.offered = 1;
      slot.ids.resize(1);
      slot.p.resize(1);
      slot.q.resize(1);
    }
    if (number % 50 == 13) slot.p[0] += 0.01;
    if (number % 50 == 15) slot.reward = 2;
    if (number % 50 == 16) decision.id = decisions[number - 3].id;  // of one that is left out
  }
  return decisions;
}

void Write(const std::vector<LoggedDecision>& decisions, const std::string& path) {
  auto sink = OpenDecisionSink(path, "");
  ASSERT_THAT(sink, IsOk());
  for (const LoggedDecision& decision : decisions) {
    ASSERT_THAT((*sink)->Write(decision), IsOk());
  }
  ASSERT_THAT((*sink)->Finish(), IsOk());
}

nlohmann::json Parsed(const std::string& text) {
  const auto json = ParseJson(text);
  EXPECT_THAT(json, IsOk()) << text;
  return json.ok() ? *json : nlohmann::json();
}

class JudgeExampleTest : public ::testing::Test {
 protected:
  ProcessResult Example(std::vector<std::string> arguments) {
    std::vector<std::string> command = {std::getenv("JUDGE_PYTHON"), std::getenv("JUDGE_EXAMPLE")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    ChildProcess child(command);
    ProcessResult result;
    result.exit_code = child.Wait();
    result.out = child.out();
    result.err = child.err();
    return result;
  }

  // Both judge the decisions; each row of the example must be one of evaluate's.
  void Compare(const Shape& shape, const std::vector<std::string>& policies) {
    const std::vector<LoggedDecision> decisions = Decisions(shape);
    Write(decisions, folder_.File("log.jsonl"));
    Write(decisions, folder_.File("log.csv.gz"));
    std::vector<std::string> evaluate = {"evaluate", "--log", folder_.File("log.jsonl"),
                                         "--policy"};
    std::vector<std::string> example = {folder_.File("log.csv.gz"), "--policy"};
    evaluate.insert(evaluate.end(), policies.begin(), policies.end());
    example.insert(example.end(), policies.begin(), policies.end());
    for (const char* word : {"--estimator", "ips,snips,dr", "--interval", "large_sample", "--each",
                             "--unreported", "0.25", "--json", "-"}) {
      evaluate.emplace_back(word);
    }
    for (const char* word : {"--unreported", "0.25", "--json", "-"}) example.emplace_back(word);
    const ProcessResult told = RunProgram("bandana-ctl", evaluate);
    const ProcessResult shown = Example(example);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    const nlohmann::json right = Parsed(told.out);
    const nlohmann::json rows = Parsed(shown.out);
    ASSERT_TRUE(right.contains("rows")) << told.err;
    EXPECT_EQ(rows["log"]["used"], right["log"]["used"]);
    EXPECT_EQ(rows["log"]["skipped"], right["log"]["skipped"]);
    ASSERT_EQ(rows["rows"].size(), 3 * policies.size());
    ASSERT_EQ(right["rows"].size(), rows["rows"].size()) << told.err;
    for (std::size_t at = 0; at < rows["rows"].size(); ++at) {
      CompareRow(rows["rows"][at], right["rows"][at]);
    }
  }

  void CompareRow(const nlohmann::json& row, const nlohmann::json& right) {
    const std::string name = row.dump() + "\n" + right.dump();
    EXPECT_EQ(row["policy"], right["policy"]);
    EXPECT_EQ(row["estimator"], right["estimator"]);
    for (const char* number : {"value", "low", "high"}) {
      ASSERT_EQ(row[number].is_null(), right[number].is_null()) << name;
      if (row[number].is_null()) continue;
      EXPECT_NEAR(row[number].get<double>(), right[number].get<double>(), 1e-9) << name;
      ++compared_;
    }
  }

  const TempDir folder_;
  int compared_ = 0;
};

TEST_F(JudgeExampleTest, GivesTheValuesOfEvaluate) {
  Compare({.seed = 1}, {"logging", "uniform", "greedy", "first", "constant:12"});
  EXPECT_EQ(compared_, 39);  // one policy has too few terms for intervals
}

TEST_F(JudgeExampleTest, GivesThemOfReleasedRewards) {
  Compare({.seed = 2, .epsilon = 2}, {"logging", "uniform", "greedy", "constant:13"});
  EXPECT_EQ(compared_, 36);
}

TEST_F(JudgeExampleTest, GivesThemOfLists) {
  Compare({.seed = 3, .slots = 3}, {"logging", "uniform", "greedy", "first"});
  EXPECT_GE(compared_, 12);
}

TEST_F(JudgeExampleTest, GivesThemWhereTheChosenArmsPropensityIsAllThatIsKnown) {
  Compare({.seed = 4, .whole = false}, {"logging", "uniform", "constant:12"});
  EXPECT_GE(compared_, 18);
}

TEST_F(JudgeExampleTest, LeavesOutWhatEvaluateLeavesOut) {
  Compare({.seed = 5, .clean = false}, {"logging", "uniform", "greedy"});
  EXPECT_EQ(compared_, 27);
}

TEST_F(JudgeExampleTest, LeavesOutLinesThatLackArms) {
  Compare({.seed = 6, .cut = true}, {"logging", "uniform", "greedy", "first", "constant:12"});
  EXPECT_GE(compared_, 25);
}

TEST_F(JudgeExampleTest, DrawsThePicture) {
  Write(Decisions({}), folder_.File("log.csv"));
  const ProcessResult shown = Example({folder_.File("log.csv"), "--policy", "logging",
                                       "constant:12", "--plot", folder_.File("judged.svg")});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const auto svg = ReadFile(folder_.File("judged.svg"), 1 << 20);
  ASSERT_THAT(svg, IsOk());
  EXPECT_THAT(*svg, StartsWith("<svg "));
  EXPECT_THAT(*svg, HasSubstr(">constant:12, dr</text>"));
  std::size_t points = 0;
  for (std::size_t at = 0; (at = svg->find("<circle", at)) != std::string::npos; ++at) ++points;
  EXPECT_EQ(points, 6u);
}

TEST_F(JudgeExampleTest, SaysWhatADecisionWithoutAReportNeeds) {
  Write(Decisions({.clean = false}), folder_.File("log.csv"));
  const ProcessResult shown = Example({folder_.File("log.csv")});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_THAT(shown.err, HasSubstr("no report came; --unreported VALUE says what it counts"));
}

}  // namespace
}  // namespace bandana::testing
