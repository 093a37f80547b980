// A model of effects keeps the weights that it was made with, or goes on without, whatever the
// default is when it is opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "server/models/folder/folder_restore.h"
#include "server/models/folder/stored_config.h"
#include "server/models/registry.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using server::HostedModel;
using server::ModelRegistry;

// As `standard {}` meant before there were weights; as it means now; and said in so many words.
constexpr char kBefore[] = "standard {} weights { none: true }";
constexpr char kNow[] = "standard {}";
constexpr char kSaid[] = "standard {} weights {}";

ModelSpec Spec(const std::string& effects, const std::string& more = "") {
  return SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE effects { " + effects + " } " + more);
}

class EffectsMadeTest : public ::testing::Test {
 protected:
  // A server that starts on the folder.
  void Start() {
    registry_.reset();
    auto registry = ModelRegistry::Open(
        {.data_dir = folder_.path(), .models_max = 9, .token_lifetime_max = absl::Hours(48)},
        clock_);
    ASSERT_THAT(registry, IsOk());
    registry_ = *std::move(registry);
  }
  // Another 40 events.
  void Feed(const std::string& name = "m") {
    HostedModel& model = *registry_->FindOwned(name);
    for (int i = 0; i < 40; ++i) {
      Decision decision = DecisionOf(model, clock_, ++number_, {0.6, 0.8}, "ann");
      decision.arms[0].keys = {UserKey("ann"), ArmKey(3)};
      ASSERT_EQ(CodeOf(ReportOne(model, decision, 0.75)), v1::APPLIED);
    }
  }
  bool HasWeights(const std::string& name = "m") {
    return registry_->FindOwned(name)->spec().effects->weights;
  }
  std::uint64_t Applied(const std::string& name = "m") {
    return registry_->FindOwned(name)->Stats().reports_applied();
  }
  // The configuration beside a model that was made at run time, as a version without weights wrote
  // it.
  void ForgetWeightsInStoredConfig() {
    registry_.reset();
    const auto state = *server::DefaultLogEngine()->OpenState(folder_.File("models/m"), false);
    v1::ModelConfig config = *server::ReadStoredConfig(*state);
    config.mutable_effects()->clear_weights();
    ASSERT_THAT(server::WriteStoredConfig(*state, config), IsOk());
  }

  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<ModelRegistry> registry_;
  std::uint64_t number_ = 0;
};

TEST_F(EffectsMadeTest, NewModelsHaveWeights) {
  Start();
  ASSERT_THAT(registry_->AddConfigured(Spec(kNow)), IsOk());
  EXPECT_TRUE(HasWeights());
  Feed();
  Start();
  ASSERT_THAT(registry_->AddConfigured(Spec(kNow)), IsOk());
  EXPECT_TRUE(HasWeights());
  EXPECT_EQ(Applied(), 40u);
  Start();
  ASSERT_THAT(registry_->AddConfigured(Spec(kSaid)), IsOk());
  EXPECT_EQ(Applied(), 40u);
}

TEST_F(EffectsMadeTest, AConfiguredModelGoesOnWithoutThroughARestartAndSighup) {
  Start();
  ASSERT_THAT(registry_->AddConfigured(Spec(kBefore)), IsOk());
  Feed();
  Start();
  ASSERT_THAT(registry_->AddConfigured(Spec(kNow)), IsOk());
  EXPECT_FALSE(HasWeights());
  EXPECT_EQ(Applied(), 40u);
  Feed();
  std::vector<ModelSpec> changed = {Spec(kNow, "arms_max: 9")};
  EXPECT_THAT(registry_->Configure(changed), IsEmpty());
  EXPECT_FALSE(HasWeights());
  EXPECT_EQ(registry_->FindOwned("m")->spec().arms_max, 9);
  EXPECT_EQ(Applied(), 80u);
  changed = {Spec(kSaid)};
  EXPECT_THAT(registry_->Configure(changed), SizeIs(1));
  EXPECT_FALSE(HasWeights());
  Start();
  EXPECT_THAT(registry_->AddConfigured(Spec(kSaid)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "effects.weights or effects.learn_scales is declared in the stored state "
                       "and weighted in the configuration"));
}

TEST_F(EffectsMadeTest, AModelMadeAtRunTimeGoesOnWithoutThroughUpdates) {
  Start();
  ASSERT_THAT(registry_->Create(Spec(kBefore)), IsOk());
  Feed();
  ForgetWeightsInStoredConfig();
  Start();
  EXPECT_FALSE(HasWeights());
  ASSERT_THAT(registry_->Update(Spec(kNow, "arms_max: 9")), IsOk());
  EXPECT_FALSE(HasWeights());
  EXPECT_EQ(registry_->FindOwned("m")->spec().arms_max, 9);
  EXPECT_THAT(registry_->Update(Spec(kSaid)), StatusIs(absl::StatusCode::kInvalidArgument));
  Start();
  EXPECT_FALSE(HasWeights());
  EXPECT_EQ(registry_->FindOwned("m")->spec().arms_max, 9);
  EXPECT_EQ(Applied(), 40u);
}

TEST_F(EffectsMadeTest, AModelWithWeightsKeepsThemThroughUpdates) {
  Start();
  ASSERT_THAT(registry_->Create(Spec(kNow)), IsOk());
  Feed();
  ASSERT_THAT(registry_->Update(Spec(kNow, "arms_max: 9")), IsOk());
  EXPECT_THAT(registry_->Update(Spec(kBefore)), StatusIs(absl::StatusCode::kInvalidArgument));
  Start();
  EXPECT_TRUE(HasWeights());
  EXPECT_EQ(registry_->FindOwned("m")->spec().arms_max, 9);
  EXPECT_EQ(Applied(), 40u);
}

TEST_F(EffectsMadeTest, ACopyIsAsTheOriginal) {
  Start();
  ASSERT_THAT(registry_->Create(Spec(kBefore)), IsOk());
  Feed();
  ForgetWeightsInStoredConfig();
  Start();
  const std::string exported = *registry_->FindOwned("m")->Export();
  ASSERT_THAT(registry_->Import("copy", exported), IsOk());
  EXPECT_FALSE(HasWeights("copy"));
  EXPECT_EQ(Applied("copy"), 40u);
  ModelSpec now = Spec(kNow);
  now.public_spec.name = "other";
  now.config.set_name("other");
  ASSERT_THAT(registry_->Create(now), IsOk());
  ASSERT_THAT(registry_->Import("copy2", *registry_->FindOwned("other")->Export()), IsOk());
  EXPECT_TRUE(HasWeights("copy2"));
}

TEST_F(EffectsMadeTest, ARestoredFolderIsAsTheDamagedOne) {
  for (const char* const made : {kBefore, kNow}) {
    TempDir folder;
    server::HostedModelOptions options;
    const std::string path = folder.File("models/m");
    std::filesystem::create_directories(folder.File("models"));
    for (const bool checkpoint : {false, true}) {
      {
        auto model = *HostedModel::Open(Spec(made), path, clock_, options);
        Decision decision = DecisionOf(*model, clock_, ++number_, {0.6, 0.8}, "ann");
        decision.arms[0].keys = {UserKey("ann"), ArmKey(3)};
        ASSERT_EQ(CodeOf(ReportOne(*model, decision, 0.75)), v1::APPLIED);
        if (checkpoint) {
          ASSERT_THAT(model->Checkpoint(), IsOk());
        }
      }
      const auto restored = server::RestoreModelFolder(Spec(kNow), {.data_dir = folder.path()});
      ASSERT_THAT(restored, IsOk()) << made << checkpoint;
      const auto model = HostedModel::Open(Spec(kNow), path, clock_, options);
      ASSERT_THAT(model, IsOk());
      EXPECT_EQ((*model)->spec().effects->weights, made == kNow) << made << checkpoint;
    }
  }
}

}  // namespace
}  // namespace bandana::testing
