// Tuning: the search, what is refused and why, and what the answer holds.
#include "tools/tune/tune.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/decisions/logged_decision.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/base/gnuplot.h"
#include "tools/decisions/decision_sink.h"
#include "tools/judge/log_files.h"
#include "tools/replay/replayed_model.h"
#include "tools/tune/evidence_picture.h"
#include "tools/tune/pattern_search.h"
#include "tools/tune/tune_main.h"

namespace bandana::testing {
namespace {

TEST(PatternSearch, FindsTheGreatestValueOfCorrelatedNumbers) {
  const auto value = [](const std::vector<double>& at) -> absl::StatusOr<double> {
    const double a = std::log(at[0] / 0.03);
    const double b = std::log(at[1] / 70);
    return -a * a - b * b - a * b;
  };
  const auto found = MaximizeByPattern({1, 1}, 1000, value);
  ASSERT_THAT(found, IsOk());
  EXPECT_NEAR(std::log(found->at[0] / 0.03), 0, std::log(1.0905));
  EXPECT_NEAR(std::log(found->at[1] / 70), 0, std::log(1.0905));
  const auto few = MaximizeByPattern({1, 1}, 5, value);
  ASSERT_THAT(few, IsOk());
  EXPECT_EQ(few->evaluations, 5);
}

class TuneTest : public ::testing::Test {
 protected:
  void WriteLog(double reward = 1) {
    auto sink = OpenDecisionSink(folder_.File("log.jsonl"), "");
    ASSERT_THAT(sink, IsOk());
    TestRng rng(1);
    for (int number = 0; number < 300; ++number) {
      LoggedDecision decision;
      decision.id = absl::StrCat(number);
      decision.time = absl::FromUnixSeconds(1'700'000'000 + number);
      LoggedSlot slot;
      slot.offered = 2;
      slot.ids = {0, 1};
      slot.p = {0.5, 0.5};
      slot.x = {1, 0, 0, 1};
      slot.chosen = static_cast<std::uint32_t>(rng.Index(2));
      slot.chosen_p = 0.5;
      slot.state = RewardState::kKnown;
      slot.reward = rng.Uniform() < 0.3 ? reward : 0;
      decision.slots = {slot};
      ASSERT_THAT((*sink)->Write(decision), IsOk());
    }
    ASSERT_THAT((*sink)->Finish(), IsOk());
  }
  void WriteConfig(const std::string& more) {
    std::ofstream(folder_.File("server.textproto"))
        << "models { name: \"m\" dimension: 2 reward_max: 1 " << more << "}\n";
  }
  absl::StatusOr<Tuning> Run(const std::string& model = "m") {
    return Tune({.logs = {folder_.File("log.jsonl")},
                 .config = folder_.File("server.textproto"),
                 .model = model});
  }

  const TempDir folder_;
};

constexpr char kLinear[] =
    "shared {} mode: NON_PRIVATE policy { uniform_mix { uniform_share: 1 } }";

TEST_F(TuneTest, GivesCandidatesWithEvidenceAndValue) {
  WriteLog();
  WriteConfig(kLinear);
  const auto tuning = Run();
  ASSERT_THAT(tuning, IsOk());
  ASSERT_THAT(tuning->candidates, SizeIs(5));
  EXPECT_EQ(tuning->candidates[0].name, "given");
  EXPECT_EQ(tuning->candidates[1].name, "tuned");
  EXPECT_EQ(tuning->candidates[2].name, "tuned, alpha 0");
  EXPECT_GT(tuning->candidates[1].evidence, tuning->candidates[0].evidence);
  EXPECT_EQ(tuning->candidates[2].evidence, tuning->candidates[1].evidence);
  for (const TuneCandidate& candidate : tuning->candidates) {
    ASSERT_TRUE(candidate.value && candidate.low && candidate.high) << candidate.note;
    EXPECT_LE(*candidate.low, *candidate.value);
  }
  // The uniform policy's value is known: no alpha changes what it chooses.
  EXPECT_EQ(tuning->best, 1u);
  const std::string update = ToUpdate(*tuning);
  EXPECT_THAT(update, HasSubstr("name: \"m\""));
  EXPECT_THAT(update, HasSubstr("reward_stddev: 0."));
  EXPECT_THAT(update, HasSubstr("prior_stddev: "));
  EXPECT_THAT(update, Not(HasSubstr("mode: ")));
}

TEST_F(TuneTest, EvidenceIsTheLogDensityOfEachRewardGivenThoseBefore) {
  WriteLog();
  WriteConfig(kLinear);
  const auto tuning = Run();
  ASSERT_THAT(tuning, IsOk());
  // Arms are unit vectors, so each has a normal mean of its own, with prior 1 and noise 1.
  TestRng rng(1);
  double sum[2] = {0, 0};
  int count[2] = {0, 0};
  double evidence = 0;
  for (int number = 0; number < 300; ++number) {
    const int arm = rng.Index(2);
    const double reward = rng.Uniform() < 0.3 ? 1 : 0;
    const double mean = sum[arm] / (1 + count[arm]);
    const double variance = 1 + 1.0 / (1 + count[arm]);
    evidence -=
        0.5 * (std::log(2 * std::numbers::pi * variance) + std::pow(reward - mean, 2) / variance);
    sum[arm] += reward;
    ++count[arm];
  }
  EXPECT_NEAR(tuning->candidates[0].evidence, evidence, 1e-9 * std::abs(evidence));
}

TEST_F(TuneTest, TurnsEachScaleBehindStandardEffects) {
  WriteLog();
  const std::string rest =
      " mode: NON_PRIVATE reward_stddev: 0.5 policy { uniform_mix { uniform_share: 0.1 } }";
  WriteConfig("effects { standard { pairs: true } }" + rest);
  const auto tuning = Run();
  ASSERT_THAT(tuning, IsOk());
  std::vector<std::string> names;
  for (const auto& [name, value] : tuning->candidates[0].parameters) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("reward_stddev", "effects.shared.prior_variance",
                                 "effects.constant.prior_variance", "effects.user.prior_variance",
                                 "effects.arm.prior_variance", "effects.pair.prior_variance"));
  EXPECT_GT(tuning->candidates[1].evidence, tuning->candidates[0].evidence);
  // The list is the model that `standard` stands for.
  std::ofstream(folder_.File("standard.textproto"))
      << "name: \"m\" dimension: 2 reward_max: 1 effects { standard { pairs: true } }" << rest;
  auto model = ReplayedModel::Create({.file = folder_.File("standard.textproto")});
  ASSERT_THAT(model, IsOk());
  LogFiles log({folder_.File("log.jsonl")});
  ASSERT_THAT(log.Start(), IsOk());
  LoggedDecision decision;
  DecisionFault fault;
  double evidence = 0;
  while (*log.Read(decision, fault) == DecisionStream::Next::kDecision) {
    const auto density = (*model)->LearnWithEvidence(decision);
    ASSERT_THAT(density, IsOk());
    evidence += *density;
  }
  EXPECT_EQ(tuning->candidates[0].evidence, evidence);
  EXPECT_THAT(ToUpdate(*tuning), AllOf(HasSubstr("name: \"pair\""), HasSubstr("weights {")));
}

TEST_F(TuneTest, DrawsTheEvidenceOfEachReplay) {
  if (!CheckGnuplot().ok()) GTEST_SKIP() << "gnuplot is not installed";
  WriteLog();
  WriteConfig(kLinear);
  const auto tuning = Run();
  ASSERT_THAT(tuning, IsOk());
  EXPECT_EQ(tuning->replays.size(), static_cast<std::size_t>(tuning->evaluations));
  ASSERT_THAT(DrawEvidence(*tuning, folder_.File("a.svg")), IsOk());
  const auto picture = ReadFile(folder_.File("a.svg"), 1 << 20);
  ASSERT_THAT(picture, IsOk());
  EXPECT_THAT(*picture,
              AllOf(HasSubstr("<svg"), HasSubstr("reward_stddev"), HasSubstr("prior_stddev")));
}

TEST_F(TuneTest, RefusesModelsThatCannotBeTunedAndSaysWhy) {
  WriteLog();
  struct Case {
    std::string config, message;
  };
  const Case cases[] = {
      {"effects { standard {} learn_scales: true } mode: NON_PRIVATE",
       "model m: effects.learn_scales: the model tunes its scales while it serves"},
      {"shared {} mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER } "
       "reporting { one_per_decision: true }",
       "privacy.mechanism: must be REWARD_RANDOMIZER"},
      {"arms {} mode: NON_PRIVATE", "model m: "},
      {"shared {} mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER }",
       "model m: "},
      {"shared {} mode: NON_PRIVATE reward_stddev: -1", "reward_stddev"},
  };
  for (const Case& c : cases) {
    WriteConfig(c.config);
    const auto tuning = Run();
    EXPECT_FALSE(tuning.ok()) << c.config;
    EXPECT_THAT(std::string(tuning.status().message()), HasSubstr(c.message));
  }
  WriteConfig(kLinear);
  EXPECT_THAT(Run("other"), StatusIs(Code::kInvalidArgument, "has no model \"other\""));
}

TEST_F(TuneTest, RefusesLogsThatDoNotFit) {
  WriteConfig(kLinear);
  EXPECT_THAT(Run(), StatusIs(Code::kNotFound));
  WriteLog(2);  // out of range: such lines do not count, and the others are all 0
  const auto tuning = Run();
  ASSERT_THAT(tuning, IsOk());
  EXPECT_LT(tuning->decisions, 300u);
  std::ofstream(folder_.File("log.jsonl")) << "nonsense\n";
  EXPECT_THAT(Run(), StatusIs(Code::kFailedPrecondition, "the log has no decision that counts"));
}

TEST_F(TuneTest, HasExitCodesAndFiles) {
  WriteLog();
  WriteConfig(kLinear);
  const std::vector<std::string> right = {"--log",
                                          folder_.File("log.jsonl"),
                                          "--config=" + folder_.File("server.textproto"),
                                          "--model",
                                          "m",
                                          "--json",
                                          folder_.File("a.json"),
                                          "--out",
                                          folder_.File("a.textproto")};
  std::FILE* const out = std::tmpfile();
  EXPECT_EQ(RunTune(right, out, out), 0);
  const auto json = ReadFile(folder_.File("a.json"), 1 << 20);
  ASSERT_THAT(json, IsOk());
  EXPECT_THAT(*json, HasSubstr("\"evidence\": -"));
  EXPECT_THAT(ReadFile(folder_.File("a.textproto"), 1 << 20), IsOkAndHolds(HasSubstr("m\"")));
  std::vector<std::string> other = right;
  other[4] = "other";
  EXPECT_EQ(RunTune(other, out, out), 1);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--log"},
                                                {"x"},
                                                {"--speed", "1"},
                                                {"--model", "m", "n"},
                                                {"--confidence", "2"},
                                                {"--log", "a", "--config", "b"}}) {
    EXPECT_EQ(RunTune(words, out, out), 2) << words[0];
  }
  std::fclose(out);
}

}  // namespace
}  // namespace bandana::testing
