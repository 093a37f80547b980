// A model of effects as a server hosts it: what reports change, what a restart, a copy and a window
// keep, and whom it is read for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "common/bandits/effects/effects_model.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/ranking/scoring.h"
#include "server/models/folder/export.h"
#include "server/models/registry.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kOpen[] = "mode: NON_PRIVATE ";
constexpr char kWindow[] =
    "reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } } ";

ModelSpec EffectsSpecOf(const std::string& mode, const std::string& more = "") {
  return SpecOf("name: 'm' dimension: 2 effects { standard {} user_groups: ['country', 'plan'] } " +
                mode + more);
}

// One user of the country, one arm of the id.
struct Pair {
  std::string user = "ann";
  std::string country;  // "": in none
  std::uint32_t arm = 7;

  std::vector<EffectKey> UserParts() const {
    return {UserKey(user), country.empty() ? kAbsent : GroupKey("country", country), kAbsent};
  }
  std::vector<EffectKey> Parts() const {
    std::vector<EffectKey> parts = UserParts();
    parts.push_back(ArmKey(arm));
    return parts;
  }
};

class EffectsServedTest : public HostedModelTest {
 protected:
  Decision DecisionFor(const HostedModel& model, const Pair& pair, std::vector<double> x) {
    Decision decision = DecisionOf(model, clock_, ++number_, std::move(x));
    decision.arms[0].keys = pair.Parts();
    return decision;
  }
  void Learn(HostedModel& model, const Pair& pair, std::vector<double> x, double reward) {
    ASSERT_EQ(CodeOf(ReportOne(model, DecisionFor(model, pair, std::move(x)), reward)),
              v1::APPLIED);
  }
  // Mean, width and score of the arm.
  static ArmScores ScoreOf(const HostedModel& model, const Pair& pair, std::vector<double> x) {
    ArmScores scores;
    NodePosterior scratch;
    const std::vector<EffectKey> user = pair.UserParts();
    const std::vector<EffectKey> arm = {ArmKey(pair.arm)};
    const double* const features = x.data();
    model.posterior()->Score({.keys = user}, {.features = {&features, 1}, .keys = arm}, scratch,
                             scores);
    return scores;
  }
  // The scores from the pure model.
  static ArmScores Expected(const EffectsModel& model, const Pair& pair, std::vector<double> x,
                            double alpha) {
    const EffectsModel::Belief belief = model.Predict(KeysOf(pair), x);
    const double width = std::sqrt(belief.variance);
    return {{belief.mean}, {width}, {belief.mean + alpha * width}};
  }
  static std::vector<EffectKey> KeysOf(const Pair& pair) {
    const std::vector<EffectKey> parts = pair.Parts();
    return {kEverybody, kEverybody, parts[1], parts[2], parts[0], parts[3]};
  }
  static EffectsModel Reference(const ModelSpec& spec) {
    std::vector<Effect> effects;
    for (const EffectTerm& term : spec.effects->terms) effects.push_back(term.effect);
    return *EffectsModel::Create(spec.public_spec.dimension, effects,
                                 spec.reward_stddev * spec.reward_stddev, EffectsModel::kUnbounded,
                                 {.weights = spec.effects->weights});
  }

  std::uint64_t number_ = 0;
};

void ExpectNear(const ArmScores& one, const ArmScores& other) {
  EXPECT_NEAR(one.means[0], other.means[0], 1e-5);
  EXPECT_NEAR(one.widths[0], other.widths[0], 1e-5);
  EXPECT_NEAR(one.scores[0], other.scores[0], 1e-5);
}

void ExpectSame(const ArmScores& one, const ArmScores& other) {
  EXPECT_EQ(one.means, other.means);
  EXPECT_EQ(one.widths, other.widths);
  EXPECT_EQ(one.scores, other.scores);
}

TEST_F(EffectsServedTest, ReportsReachUserGroupAndArm) {
  const ModelSpec spec = EffectsSpecOf(kOpen);
  const auto model = Open(spec);
  EffectsModel reference = Reference(spec);
  const std::vector<std::pair<Pair, double>> events = {{{"ann", "fr", 7}, 0.9},
                                                       {{"bob", "fr", 8}, 0.1},
                                                       {{"ann", "fr", 7}, 0.7},
                                                       {{"eve", "", 7}, 1}};
  for (const auto& [pair, reward] : events) {
    Learn(*model, pair, {0.6, 0.8}, reward);
    reference.Learn(KeysOf(pair), std::vector<double>{0.6, 0.8}, reward, 0);
  }
  WaitApplied(*model);
  const double alpha = spec.bandit.exploration.alpha;
  for (const Pair& pair : {Pair{"ann", "fr", 7}, Pair{"new", "fr", 8}, Pair{"new", "de", 9}}) {
    ExpectNear(ScoreOf(*model, pair, {0.8, 0.6}), Expected(reference, pair, {0.8, 0.6}, alpha));
  }
  EXPECT_EQ(model->Stats().reports_applied(), 4);
}

TEST_F(EffectsServedTest, AScoreIsTheSumOfItsEffects) {
  const auto model = Open(EffectsSpecOf(kOpen));
  Learn(*model, {"ann", "fr", 7}, {0.6, 0.8}, 0.9);
  Learn(*model, {"bob", "fr", 8}, {0.8, 0.6}, 0.2);
  WaitApplied(*model);
  const auto posterior = model->posterior();
  EXPECT_THAT(
      posterior->effect_names(),
      ::testing::ElementsAre("shared", "constant", "group_country", "group_plan", "user", "arm"));
  const Pair pair{"ann", "fr", 8};
  const std::vector<double> x = {0.6, 0.8};
  const double* const features = x.data();
  const std::vector<EffectKey> user = pair.UserParts();
  const std::vector<EffectKey> arm = {ArmKey(pair.arm)};
  std::vector<EffectShare> shares;
  posterior->Explain({.keys = user}, {.features = {&features, 1}, .keys = arm}, shares);
  ASSERT_EQ(shares.size(), 6u);
  double mean = 0;
  double variance = 0;
  for (const EffectShare& share : shares) {
    mean += share.mean;
    variance += share.width * share.width;
  }
  const ArmScores scores = ScoreOf(*model, pair, x);
  EXPECT_NEAR(mean, scores.means[0], 1e-6);
  EXPECT_NEAR(std::sqrt(variance), scores.widths[0], 1e-6);
  // Ann has no plan.
  EXPECT_EQ(shares[3].mean, 0);
  EXPECT_EQ(shares[3].width, 0);
}

TEST_F(EffectsServedTest, OperatorsSeeWhatStandsOutButNothingOfSingleUsers) {
  const auto model = Open(EffectsSpecOf(kOpen));
  Learn(*model, {"ann", "fr", 7}, {0.6, 0.8}, 0.9);
  Learn(*model, {"bob", "fr", 8}, {0.8, 0.6}, 0.2);
  Learn(*model, {"eve", "de", 7}, {0.8, 0.6}, 0.7);
  WaitApplied(*model);
  const std::vector<EffectLook> looks = model->Look(1);
  ASSERT_EQ(looks.size(), 6u);
  EXPECT_EQ(looks[5].name, "arm");
  EXPECT_EQ(looks[5].blocks, 2u);
  EXPECT_NEAR(looks[5].prior_variance, 0.03, 1e-6);
  ASSERT_EQ(looks[5].largest.size(), 1u);
  EXPECT_EQ(looks[5].largest[0].name, "arm 7");
  EXPECT_GT(looks[5].largest[0].mean, 0.02);
  EXPECT_LT(looks[5].largest[0].width, std::sqrt(0.03));
  EXPECT_EQ(looks[2].blocks, 2u);
  EXPECT_EQ(looks[2].largest.size(), 1u);
  EXPECT_EQ(looks[2].largest[0].key, GroupKey("country", "fr"));
  EXPECT_EQ(looks[4].name, "user");
  EXPECT_EQ(looks[4].blocks, 3u);
  EXPECT_THAT(looks[4].largest, ::testing::IsEmpty());
}

TEST_F(EffectsServedTest, ARestartGivesTheSameBits) {
  const ModelSpec spec = EffectsSpecOf(kOpen);
  auto model = Open(spec);
  for (int i = 0; i < 300; ++i) {
    Learn(*model, {absl::StrCat("u", i % 17), i % 3 == 0 ? "fr" : "de", 1u + i % 5},
          {0.6, 0.1 * (i % 8)}, 0.1 * (i % 11));
    if (i == 120) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
  }
  WaitApplied(*model);
  const Pair pair{"u3", "fr", 2};
  const ArmScores before = ScoreOf(*model, pair, {0.5, 0.5});
  model.reset();
  model = Open(spec);  // the checkpoint, and the log after it
  ExpectSame(ScoreOf(*model, pair, {0.5, 0.5}), before);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  model.reset();
  model = Open(spec);  // the checkpoint alone
  ExpectSame(ScoreOf(*model, pair, {0.5, 0.5}), before);
  EXPECT_EQ(model->Stats().reports_applied(), 300);
}

TEST_F(EffectsServedTest, OtherEffectsAreAnotherModel) {
  { Open(EffectsSpecOf(kOpen)); }
  const ModelSpec other = SpecOf(
      "name: 'm' dimension: 2 effects { effects { name: 'shared' } "
      "user_groups: ['country', 'plan'] } mode: NON_PRIVATE");
  EXPECT_THAT(TryOpen(other).status(), StatusIs(absl::StatusCode::kInvalidArgument, "effects is "));
}

TEST_F(EffectsServedTest, ADecisionWithTheKeysOfAnotherModelIsRefused) {
  const auto model = Open(EffectsSpecOf(kOpen));
  Decision decision = DecisionFor(*model, {}, {1, 0});
  decision.arms[0].keys.pop_back();
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 1)), v1::TOKEN_INVALID);
  decision.arms[0].keys.clear();
  EXPECT_EQ(ReasonOf(ReportOne(*model, decision, 1)), v1::TOKEN_INVALID);
}

TEST_F(EffectsServedTest, AModelWithoutEffectsRefusesKeys) {
  const auto model = Open(SharedSpec());
  EXPECT_EQ(ReasonOf(ReportOne(*model, DecisionFor(*model, {}, {1, 0}), 1)), v1::TOKEN_INVALID);
}

TEST_F(EffectsServedTest, AWindowThatClosesIsAnEventOfItsKeys) {
  const ModelSpec spec = EffectsSpecOf(kOpen, kWindow);
  auto model = Open(spec);
  EffectsModel reference = Reference(spec);
  const Pair reported{"ann", "fr", 7};
  const Pair silent{"bob", "", 8};
  const Decision decision = DecisionFor(*model, reported, {1, 0});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  ASSERT_THAT(model->RecordDecision(DecisionFor(*model, silent, {0, 1})), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model, decision, 1)), v1::APPLIED);
  ASSERT_THAT(model->Checkpoint(), IsOk());  // with the windows open
  model.reset();
  model = Open(spec);
  clock_.Advance(absl::Seconds(61));
  ASSERT_TRUE(Eventually([&] { return model->Stats().applied_sequence() >= 3; }));
  reference.Learn(KeysOf(reported), std::vector<double>{1, 0}, 1, 0);
  reference.Learn(KeysOf(silent), std::vector<double>{0, 1}, 0.25, 0);
  for (const Pair& pair : {reported, silent}) {
    ExpectNear(ScoreOf(*model, pair, {0.6, 0.8}), Expected(reference, pair, {0.6, 0.8}, 0.2));
  }
}

TEST_F(EffectsServedTest, ACopyHasWhatReportsOfOpenWindowsSaid) {
  const ModelSpec spec = EffectsSpecOf(kOpen, kWindow);
  const auto model = Open(spec);
  EffectsModel reference = Reference(spec);
  const Pair pair{"ann", "fr", 7};
  const Decision decision = DecisionFor(*model, pair, {1, 0});
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model, decision, 1)), v1::APPLIED);
  const auto bytes = model->Export();
  ASSERT_THAT(bytes, IsOk());
  auto exported = server::DecodeExport(*bytes);
  ASSERT_THAT(exported, IsOk());
  reference.Learn(KeysOf(pair), std::vector<double>{1, 0}, 1, 0);
  EXPECT_EQ(exported->checkpoint.statistics[0].events, 1);
  std::string expected;
  ByteWriter out(expected);
  out.U64(1);  // event
  reference.Encode(out);
  EXPECT_EQ(exported->checkpoint.effects, expected);
}

// The value of the output and its own variance reach the blocks.
TEST_F(EffectsServedTest, NoiseOfTheDevicesCountsAsWhatItIs) {
  const ModelSpec spec = EffectsSpecOf("mode: LOCAL_REWARD reporting { one_per_decision: true } ",
                                       "privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER }");
  const auto model = Open(spec);
  EffectsModel reference = Reference(spec);
  const auto randomizer =
      RewardRandomizer::Create({.epsilon = Epsilon{2}, .range = spec.public_spec.reward_range});
  ASSERT_THAT(randomizer, IsOk());
  const Pair pair{"ann", "fr", 7};
  const std::vector<double> x = {0.6, 0.8};

  Decision decision = DecisionFor(*model, pair, x);
  const RewardRange window{0.25, 0.5};
  decision.arms[0].window = window;
  ASSERT_EQ(CodeOf(ReportOne(*model, decision, 1)), v1::APPLIED);
  reference.Learn(KeysOf(pair), x, randomizer->ValueIn(window, 1),
                  randomizer->VarianceMaxIn(window));

  ReportedOutcome whole{.decision = DecisionFor(*model, pair, x), .output = 0, .whole_range = true};
  whole.decision.arms[0].window = window;
  ASSERT_THAT(ReportAll(*model, {whole}), IsOk());
  reference.Learn(KeysOf(pair), x, randomizer->Value(0), randomizer->VarianceMax());

  WaitApplied(*model);
  ExpectNear(ScoreOf(*model, pair, x), Expected(reference, pair, x, 0.2));
}

TEST_F(EffectsServedTest, ACentralModelShowsNoRawReward) {
  const std::vector<std::byte> key(32, std::byte{7});
  options_.noise_key = std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(key));
  const ModelSpec spec = EffectsSpecOf("mode: CENTRAL_REWARD reporting { one_per_decision: true } ",
                                       "privacy { epsilon: 1 }");
  auto model = Open(spec);
  const Pair pair{"ann", "fr", 7};
  for (int i = 0; i < 20; ++i) Learn(*model, pair, {1, 0}, 1);
  WaitApplied(*model);
  const ArmScores drawn = ScoreOf(*model, pair, {1, 0});
  EffectsModel raw = Reference(spec);
  for (int i = 0; i < 20; ++i) raw.Learn(KeysOf(pair), std::vector<double>{1, 0}, 1, 0);
  const ArmScores exact = Expected(raw, pair, {1, 0}, 0.2);
  EXPECT_GT(drawn.widths[0], 1.5 * exact.widths[0]);  // the noise is known
  EXPECT_NE(drawn.means[0], exact.means[0]);
  EXPECT_GT(model->Ledger().epsilon_spent_user(), 0);
  model.reset();
  model = Open(spec);  // the same noise again
  ExpectSame(ScoreOf(*model, pair, {1, 0}), drawn);
}

TEST_F(EffectsServedTest, IsReadWhileItLearns) {
  const auto model = Open(EffectsSpecOf(kOpen));
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const ArmScores scores = ScoreOf(*model, {"ann", "fr", 7}, {0.6, 0.8});
      ASSERT_TRUE(std::isfinite(scores.scores[0]));
      ASSERT_GE(scores.widths[0], 0);
    }
  });
  for (int i = 0; i < 500; ++i) Learn(*model, {"ann", "fr", 7}, {0.6, 0.8}, 0.5);
  stop = true;
  reader.join();
  WaitApplied(*model);
  EXPECT_NEAR(ScoreOf(*model, {"ann", "fr", 7}, {0.6, 0.8}).means[0], 0.5, 0.05);
}

}  // namespace
}  // namespace bandana::testing
