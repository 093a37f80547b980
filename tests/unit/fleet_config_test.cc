// A server accepts the file that --write_config writes.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "common/base/file.h"
#include "common/design/files/users_tsv.h"
#include "common/design/model_spec.h"
#include "common/promise/mode.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/environments/environment.h"
#include "tools/fleet/config_writer.h"

namespace bandana::testing {
namespace {

// Writes the configuration of the environment and parses every model as a server would.
std::map<std::string, ModelSpec> WriteAndParse(const std::string& spec,
                                               const std::vector<std::string>& assignments,
                                               const TempDir& folder = TempDir(),
                                               const std::string& policy = "") {
  const auto environment = *MakeEnvironment(spec, *Settings::Parse(assignments), 1);
  EXPECT_THAT(WriteServerConfig(*environment, "test", folder.path(), policy), IsOk());
  v1::ServerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      *ReadFile(folder.File("server.textproto"), 1 << 20), &config));
  std::map<std::string, ModelSpec> models;
  for (const v1::ModelConfig& model : config.models()) {
    std::vector<ConfigError> errors;
    std::optional<ModelSpec> parsed =
        ParseModelConfig(model, folder.path(), /*allow_files=*/true, errors);
    for (const ConfigError& error : errors)
      ADD_FAILURE() << model.name() << " " << error.field << ": " << error.message;
    if (parsed) models.emplace(model.name(), *std::move(parsed));
  }
  return models;
}

std::vector<std::string> Names(const std::map<std::string, ModelSpec>& models) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : models) names.push_back(name);
  return names;
}

TEST(FleetConfigTest, CoupledEnvironmentsGetEveryModel) {
  for (const char* spec : {"synthetic", "banditlib"}) {
    const auto models = WriteAndParse(spec, {"users=7"});
    EXPECT_THAT(Names(models),
                ElementsAre("colin", "dp-colin-shaped", "goblin", "ldp-colin", "ldp-colin-eps1",
                            "ldp-colin-eps5", "ldp-goblin", "linucb", "linucb-shared"));
    EXPECT_EQ(models.at("dp-colin-shaped").public_spec.mechanism, MechanismId::kShapedCounter);
    EXPECT_EQ(models.at("colin").coupling.nodes(), 7);
    EXPECT_EQ(models.at("ldp-colin").public_spec.epsilon.value, 2);
    EXPECT_EQ(models.at("ldp-colin-eps1").public_spec.epsilon.value, 1);
    EXPECT_EQ(models.at("ldp-colin-eps5").public_spec.epsilon.value, 5);
    EXPECT_EQ(models.at("ldp-goblin").public_spec.epsilon.value, 2);
    EXPECT_EQ(models.at("ldp-colin").public_spec.mode, Mode::kLocalReward);
    EXPECT_TRUE(models.at("ldp-colin").public_spec.one_per_decision);
    EXPECT_EQ(models.at("ldp-colin").public_spec.guarantee, "proven");
  }
}

TEST(FleetConfigTest, APolicyIsOfTheModelsThatMayHaveOne) {
  const std::pair<const char*, std::vector<std::string>> worlds[] = {
      {"synthetic", {"users=7"}},
      {"sphere", {}},
      {"mab", {}},
      {"crowd", {"users=300", "levels=2", "dimension=4"}}};
  for (const auto& [spec, settings] : worlds) {
    const auto models =
        WriteAndParse(spec, settings, TempDir(), "uniform_mix { uniform_share: 0.1 }");
    for (const auto& [name, model] : models) {
      const bool arms = name.find("mab") != std::string::npos;
      const bool may = ModeOf(model.public_spec.mode).no_policy.empty() && !arms;
      EXPECT_EQ(model.policy != nullptr, may) << spec << " " << name;
    }
  }
  const auto environment = *MakeEnvironment("sphere", *Settings::Parse({}), 1);
  for (const char* bad : {"thompson", "greedy {}", " "}) {
    EXPECT_THAT(WriteServerConfig(*environment, "test", TempDir().path(), bad),
                StatusIs(absl::StatusCode::kInvalidArgument, "policy: must be"));
  }
}

TEST(FleetConfigTest, ACrowdGetsEffectsAndItsGroups) {
  const TempDir folder;
  const auto models = WriteAndParse("crowd", {"users=300", "levels=2", "dimension=4"}, folder);
  EXPECT_THAT(Names(models),
              ElementsAre("colin", "effects", "goblin", "ldp-effects", "ldp-effects-eps1",
                          "ldp-effects-eps5", "ldp-linucb-reward", "linucb", "linucb-shared"));
  EXPECT_EQ(models.at("colin").coupling.nodes(), 6) << "the groups of level2";
  EXPECT_EQ(models.at("colin").users.at("299"), 5);
  EXPECT_EQ(models.at("goblin").coupling.nodes(), 6);
  ASSERT_TRUE(models.at("effects").effects.has_value());
  EXPECT_THAT(models.at("effects").effects->user_groups, ElementsAre("level1", "level2"));
  EXPECT_EQ(models.at("effects").effects->users_max, 300);
  EXPECT_EQ(models.at("ldp-effects-eps1").public_spec.epsilon.value, 1);
  EXPECT_EQ(models.at("ldp-effects").public_spec.mode, Mode::kLocalReward);
  const std::string users = *ReadFile(folder.File("users.tsv"), 1 << 20);
  const auto groups = ParseUserGroupsTsv(users, 300);
  ASSERT_THAT(groups, IsOk());
  EXPECT_THAT(groups->names, ElementsAre("level1", "level2"));
  EXPECT_EQ(groups->ids.size(), 300u);
  EXPECT_EQ(groups->values[0].size(), 3u);
  EXPECT_EQ(groups->values[1].size(), 6u);
  EXPECT_FALSE(ReadFile(folder.File("edges.txt"), 1 << 20)->empty());
}

TEST(FleetConfigTest, GroupsBeyondAGraphsNodesGetNoGraph) {
  // 201 groups; and 101 of 100 features, 10,100 rows.
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"users=10050", "levels=1", "dimension=2"},
        std::vector<std::string>{"users=5050", "levels=1", "dimension=100"}}) {
    const auto models = WriteAndParse("crowd", settings);
    EXPECT_THAT(Names(models),
                ElementsAre("effects", "ldp-effects", "ldp-effects-eps1", "ldp-effects-eps5",
                            "ldp-linucb-reward", "linucb", "linucb-shared"));
  }
}

TEST(FleetConfigTest, OtherEnvironmentsGetTheSensibleSubset) {
  const auto mab = WriteAndParse("mab", {});
  EXPECT_THAT(Names(mab), ElementsAre("ldp-linucb", "ldp-linucb-reward", "ldp-mab", "ldp-mab-klucb",
                                      "linucb", "linucb-shared", "mab"));
  EXPECT_EQ(mab.at("ldp-mab").arms->policy, v1::ArmsFamily::TSALLIS_INF);
  EXPECT_EQ(mab.at("ldp-mab-klucb").arms->policy, v1::ArmsFamily::KL_UCB);
  EXPECT_EQ(mab.at("ldp-mab").public_spec.mechanism, MechanismId::kRewardRandomizer);
  const auto points = WriteAndParse("points", {"domain=box", "dimension=3"});
  EXPECT_THAT(Names(points), ElementsAre("bco", "ldp-bco"));
  EXPECT_EQ(points.at("bco").points->domain.kind, ConvexDomain::Kind::kBox);
  EXPECT_EQ(points.at("bco").public_spec.mode, Mode::kNonPrivate);
  EXPECT_EQ(points.at("ldp-bco").public_spec.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_EQ(points.at("ldp-bco").public_spec.epsilon.value, 2);
  EXPECT_EQ(points.at("ldp-bco").public_spec.dimension, 3);
  const auto sphere = WriteAndParse("sphere", {});
  EXPECT_THAT(Names(sphere), ElementsAre("ldp-linucb", "ldp-linucb-reward", "linucb", "linucb-jdp",
                                         "linucb-shared"));
  EXPECT_EQ(sphere.at("linucb-jdp").public_spec.mode, Mode::kJoint);
  EXPECT_EQ(sphere.at("ldp-linucb").public_spec.mode, Mode::kLocalContext);
  EXPECT_NEAR(sphere.at("ldp-linucb").theta_l2_max, 0.75, 1e-12);
  EXPECT_EQ(sphere.at("ldp-linucb-reward").public_spec.mode, Mode::kLocalReward);
  const auto logistic = WriteAndParse("sphere", {"link=logistic"});
  EXPECT_THAT(Names(logistic), ElementsAre("ldp-glm"));
  EXPECT_EQ(logistic.at("ldp-glm").public_spec.link, Link::kLogistic);
  EXPECT_EQ(logistic.at("ldp-glm").public_spec.mode, Mode::kLocalContext);
  EXPECT_NEAR(logistic.at("ldp-glm").theta_l2_max, 1, 1e-12);  // of theta / 4
  const auto sparse = WriteAndParse("sparse", {"dimension=64"});
  EXPECT_THAT(Names(sparse),
              ElementsAre("fliphat", "ldp-linucb", "ldp-linucb-reward", "linucb", "linucb-shared"));
  EXPECT_EQ(sparse.at("fliphat").public_spec.mechanism, MechanismId::kSparseRelease);
  EXPECT_EQ(sparse.at("fliphat").sparse->sparsity, 10);
  EXPECT_THAT(Names(WriteAndParse("sparse", {})), ElementsAre("fliphat"));
  EXPECT_EQ(sparse.at("linucb").public_spec.feature_l2_max, 14);  // sqrt(64) + 6
  EXPECT_TRUE(WriteAndParse("sphere", {}).at("linucb").public_spec.reward_binary);
}

TEST(FleetConfigTest, RewardRangeIsTheEnvironments) {
  const auto models = WriteAndParse("synthetic", {"reward_abs_max=0.25"});
  for (const auto& [name, model] : models) {
    EXPECT_EQ(model.public_spec.reward_range.min, -0.25);
    EXPECT_EQ(model.public_spec.reward_range.max, 0.25);
  }
}

TEST(FleetConfigTest, NoiselessEnvironmentsAreLegal) {
  EXPECT_THAT(Names(WriteAndParse("synthetic", {"noise=0"})), ::testing::SizeIs(9));
}

TEST(FleetConfigTest, RefusesWhatNoServerHosts) {
  const TempDir folder;
  const auto environment =
      *MakeEnvironment("sparse", *Settings::Parse(std::vector<std::string>{"dimension=4097"}), 1);
  EXPECT_THAT(WriteServerConfig(*environment, "test", folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "at most 4096 features, the environment has 4097"));
}

}  // namespace
}  // namespace bandana::testing
