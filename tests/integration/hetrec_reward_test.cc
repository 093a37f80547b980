// The written configuration learns on the real data: every model plays 20,000 decisions in process,
// without server and network. Slow; found through BANDANA_DATA_DIR.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "common/bandits/model.h"
#include "common/base/file.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/model_spec.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/ranking/scoring.h"
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
  double normalized_reward_min;
};

// Nine tenths of what the models reach, three or more standard deviations between event orders
// below it: rounding, which differs between processors, sends a run down another path.
constexpr Expectation kExpectations[] = {
    {"linucb-shared", 5.3},  {"linucb", 3.8},    {"colin", 5.8},          {"goblin", 5.6},
    {"ldp-colin-eps1", 4.3}, {"ldp-colin", 5.6}, {"ldp-colin-eps5", 6.1}, {"ldp-goblin", 5.6},
};

// The importer's output, made once for all models.
class HetrecReward : public ::testing::TestWithParam<Expectation> {
 protected:
  static void SetUpTestSuite() {
    const char* data = std::getenv("BANDANA_DATA_DIR");
    if (data == nullptr) return;
    folder_ = std::make_unique<testing::TempDir>();
    const auto result = testing::RunProgram(
        "bandana-import", {"hetrec", std::string("--in=") + data + "/hetrec2011-lastfm-2k",
                           "--out=" + folder_->path()});
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

  static std::unique_ptr<testing::TempDir> folder_;
};
std::unique_ptr<testing::TempDir> HetrecReward::folder_;

using FeaturesById = std::unordered_map<std::uint32_t, std::vector<double>>;

FeaturesById ById(std::vector<TsvArm> arms) {
  FeaturesById features;
  for (TsvArm& arm : arms) features[arm.id] = std::move(arm.features);
  return features;
}

// Plays kRounds decisions; the sum of true rewards.
double Play(const ModelSpec& spec, const Environment& environment, const FeaturesById& arms,
            BanditModel& model) {
  std::optional<RewardRandomizer> randomizer;
  if (spec.public_spec.mode == Mode::kLocalReward)
    randomizer = testing::RandomizerOf(spec.public_spec);
  testing::SeededBits bits(kSeed);
  double total = 0;
  Choice decision;
  ArmScores scores;
  for (int round = 0; round < kRounds; ++round) {
    environment.DecisionAt(round, decision);
    const int node = spec.coupling.nodes() == 1 ? 0 : spec.users.at(decision.user);
    std::vector<double> features;
    for (const std::uint32_t id : decision.arm_ids) {
      features.insert(features.end(), arms.at(id).begin(), arms.at(id).end());
    }
    ScoreArms(model.Posterior(node), features, scores);
    const int shown = RankArms(scores.scores, 1, round)[0];
    double reward = environment.RewardAt(round, decision, shown);
    total += reward;
    if (randomizer) {
      const ClippedReward clipped = randomizer->Clip(RawReward(reward), 0);
      reward = randomizer->Value(randomizer->Randomize(clipped, bits)->output());
    }
    const Event event = {node, arms.at(decision.arm_ids[shown]), reward};
    model.Apply(std::span(&event, 1));
  }
  return total;
}

TEST_P(HetrecReward, ReachesTheModelsFigure) {
  const auto [name, normalized_reward_min] = GetParam();
  std::optional<ModelSpec> spec = Spec(name);
  ASSERT_TRUE(spec.has_value());
  const auto environment = MakeEnvironment("hetrec:" + folder_->path(), Settings(), kSeed);
  ASSERT_THAT(environment, IsOk());
  const auto arms = ParseArmsTsv(Get("arms.tsv"), spec->public_spec.dimension, 100'000);
  ASSERT_THAT(arms, IsOk());
  const auto model = BanditModel::Create(spec->bandit, spec->coupling);
  ASSERT_THAT(model, IsOk());

  const double reward = Play(*spec, **environment, ById(*arms), **model);
  const double normalized = reward / (kRounds / 25.0);
  std::printf("%s normalized_reward=%.3f\n", name, normalized);
  EXPECT_GE(normalized, normalized_reward_min);
}

INSTANTIATE_TEST_SUITE_P(AllModels, HetrecReward, ::testing::ValuesIn(kExpectations),
                         [](const auto& info) {
                           std::string name = info.param.model;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bandana::testing
