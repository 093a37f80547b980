// The models with effects that bandana-import writes learn on the real data: each plays 20,000
// decisions in process, without server and network. Slow; found through BANDANA_DATA_DIR.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "common/bandits/effects/effects_model.h"
#include "common/base/file.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/files/users_tsv.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/ranking/effect_key.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/child_process.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/environments/environment.h"

namespace bandana::testing {
namespace {

constexpr int kRounds = 20'000;
constexpr std::uint64_t kSeed = 4;

struct Expectation {
  const char* model;
  const char* others;
  double normalized_reward_min;
};

// Nine tenths of what the models reach. At epsilon 1 starts differ much: 6.2 to 7.7 were seen.
constexpr Expectation kExpectations[] = {
    {"effects", "uniform", 9.8},     {"ldp-effects-eps1", "uniform", 5.4},
    {"ldp-effects", "uniform", 8.5}, {"ldp-effects-eps5", "uniform", 9.8},
    {"effects", "popular", 4.5},     {"ldp-effects", "popular", 3.4},
};

using Parts = std::vector<EffectKey>;

class HetrecEffects : public ::testing::TestWithParam<Expectation> {
 protected:
  static void SetUpTestSuite() {
    const char* data = std::getenv("BANDANA_DATA_DIR");
    if (data == nullptr) return;
    folder_ = std::make_unique<testing::TempDir>();
    const auto result = testing::RunProgram(
        "bandana-import", {"hetrec", std::string("--in=") + data + "/hetrec2011-lastfm-2k",
                           "--out=" + folder_->path(), "--nodes=users"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (folder_ == nullptr) GTEST_SKIP() << "BANDANA_DATA_DIR is not set";
  }

  static std::string Get(const std::string& name) {
    const auto text = ReadFile(folder_->File(name), 1 << 26);
    EXPECT_THAT(text, IsOk());
    return text.value_or("");
  }

  static std::optional<ModelSpec> Spec(const std::string& model) {
    v1::ServerConfig config;
    if (!google::protobuf::TextFormat::ParseFromString(Get("server.textproto"), &config)) return {};
    std::vector<ConfigError> errors;
    for (const v1::ModelConfig& candidate : config.models()) {
      if (candidate.name() == model) {
        return ParseModelConfig(candidate, folder_->path(), /*allow_files=*/true, errors);
      }
    }
    return {};
  }

  // By user id: the keys of the user and of the user's groups.
  static std::unordered_map<std::string, Parts> UserParts() {
    const std::string text = Get("users.tsv");
    const auto groups = ParseUserGroupsTsv(text, 10'000);
    EXPECT_THAT(groups, IsOk());
    std::unordered_map<std::string, Parts> users;
    for (std::size_t user = 0; user < groups->ids.size(); ++user) {
      Parts& parts = users[std::string(groups->ids[user])];
      parts.push_back(UserKey(groups->ids[user]));
      for (std::size_t group = 0; group < groups->names.size(); ++group) {
        const std::uint32_t value = groups->cell(user, group);
        parts.push_back(value == UserGroups::kNone
                            ? kAbsent
                            : GroupKey(groups->names[group], groups->values[group][value]));
      }
    }
    return users;
  }

  static std::unique_ptr<testing::TempDir> folder_;
};
std::unique_ptr<testing::TempDir> HetrecEffects::folder_;

// Does a server's work for a model of effects, without the server.
class Player {
 public:
  explicit Player(const ModelSpec& spec)
      : terms_(spec.effects->terms),
        alpha_(spec.bandit.exploration.alpha),
        model_(Make(spec)),
        keys_(terms_.size()) {
    if (spec.public_spec.mode == Mode::kLocalReward) {
      randomizer_ = testing::RandomizerOf(spec.public_spec);
    }
  }

  double Score(const Parts& user, std::uint32_t arm, std::span<const double> x) {
    SetKeys(user, arm);
    const EffectsModel::Belief belief = model_.Predict(keys_, x);
    return belief.mean + alpha_ * std::sqrt(belief.variance);
  }

  void Learn(const Parts& user, std::uint32_t arm, std::span<const double> x, double reward) {
    SetKeys(user, arm);
    double variance = 0;
    if (randomizer_) {
      const ClippedReward clipped = randomizer_->Clip(RawReward(reward), 0);
      reward = randomizer_->Value(randomizer_->Randomize(clipped, bits_)->output());
      variance = randomizer_->VarianceMax();
    }
    model_.Learn(keys_, x, reward, variance);
  }

 private:
  static EffectsModel Make(const ModelSpec& spec) {
    std::vector<Effect> effects;
    for (const EffectTerm& term : spec.effects->terms) effects.push_back(term.effect);
    return EffectsModel::Create(spec.public_spec.dimension, std::move(effects),
                                spec.reward_stddev * spec.reward_stddev, EffectsModel::kUnbounded,
                                {.weights = spec.effects->weights})
        .value();
  }

  void SetKeys(const Parts& user, std::uint32_t arm) {
    const EffectKey arm_parts[] = {ArmKey(arm)};
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      keys_[i] = KeyOf(terms_[i].scope, user, arm_parts);
    }
  }

  std::vector<EffectTerm> terms_;
  double alpha_;
  EffectsModel model_;
  std::vector<EffectKey> keys_;
  std::optional<RewardRandomizer> randomizer_;
  testing::SeededBits bits_{kSeed};
};

TEST_P(HetrecEffects, ReachesTheModelsFigure) {
  const auto [name, others, normalized_reward_min] = GetParam();
  const std::optional<ModelSpec> spec = Spec(name);
  ASSERT_TRUE(spec.has_value() && spec->effects.has_value());
  Settings settings;
  ASSERT_THAT(settings.Add("others", others), IsOk());
  const auto environment = MakeEnvironment("hetrec:" + folder_->path(), std::move(settings), kSeed);
  ASSERT_THAT(environment, IsOk());
  auto arms = ParseArmsTsv(Get("arms.tsv"), spec->public_spec.dimension, 100'000);
  ASSERT_THAT(arms, IsOk());
  std::unordered_map<std::uint32_t, std::vector<double>> features;
  for (TsvArm& arm : *arms) features[arm.id] = std::move(arm.features);
  const auto users = UserParts();

  Player player(*spec);
  Choice decision;
  double total = 0;
  std::vector<double> scores;
  for (int round = 0; round < kRounds; ++round) {
    (*environment)->DecisionAt(round, decision);
    const Parts& user = users.at(decision.user);
    scores.clear();
    for (const std::uint32_t arm : decision.arm_ids) {
      scores.push_back(player.Score(user, arm, features.at(arm)));
    }
    const auto shown = std::max_element(scores.begin(), scores.end()) - scores.begin();
    const double reward = (*environment)->RewardAt(round, decision, static_cast<int>(shown));
    total += reward;
    const std::uint32_t arm = decision.arm_ids[shown];
    player.Learn(user, arm, features.at(arm), reward);
  }
  const double normalized = total / (kRounds / 25.0);
  std::printf("%s others=%s normalized_reward=%.3f\n", name, others, normalized);
  EXPECT_GE(normalized, normalized_reward_min);
}

INSTANTIATE_TEST_SUITE_P(AllModels, HetrecEffects, ::testing::ValuesIn(kExpectations),
                         [](const auto& info) {
                           std::string name =
                               std::string(info.param.model) + "_" + info.param.others;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bandana::testing
