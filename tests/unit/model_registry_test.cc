#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/file.h"
#include "server/models/registry.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using server::HostedModel;
using server::ModelRegistry;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ModelSpec Named(const std::string& name, const std::string& more = "") {
  return SpecOf("name: '" + name + "' dimension: 2 mode: NON_PRIVATE independent {} " + more);
}

class ModelRegistryTest : public ::testing::Test {
 protected:
  void Open() {
    registry_.reset();
    auto registry = ModelRegistry::Open({.data_dir = folder_.path(), .models_max = 3}, clock_);
    ASSERT_THAT(registry, IsOk());
    registry_ = *std::move(registry);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& model : registry_->List()) names.push_back(model->spec().public_spec.name);
    return names;
  }
  static void Feed(HostedModel& model, const Clock& clock, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(CodeOf(ReportOne(model, DecisionOf(model, clock, i, {1, 0}, "ann"), 1)),
                v1::APPLIED);
    }
  }

  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<ModelRegistry> registry_;
};

TEST_F(ModelRegistryTest, CreatedModelsComeBackConfiguredOnesAreGivenAnew) {
  Open();
  ASSERT_THAT(registry_->Create(Named("b", "exploration { alpha: 0.75 }")), IsOk());
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
  Feed(*registry_->Find("a"), clock_, 3);
  Feed(*registry_->Find("b"), clock_, 5);
  Open();
  EXPECT_THAT(Names(), ElementsAre("b"));
  EXPECT_EQ(registry_->Find("a"), nullptr);
  EXPECT_EQ(registry_->Find("b")->Stats().reports_applied(), 5);
  EXPECT_EQ(NodeOf(*registry_->Find("b")->posterior(), 0).alpha, 0.75);
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  EXPECT_EQ(registry_->Find("a")->Stats().reports_applied(), 3);
}

TEST_F(ModelRegistryTest, NamesAreUniqueAndNumbersBounded) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  EXPECT_THAT(registry_->Create(Named("a")), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry_->AddConfigured(Named("a")), StatusIs(absl::StatusCode::kAlreadyExists));
  ASSERT_THAT(registry_->Create(Named("b")), IsOk());
  ASSERT_THAT(registry_->Create(Named("c")), IsOk());
  EXPECT_THAT(registry_->Create(Named("d")),
              StatusIs(absl::StatusCode::kResourceExhausted, "models_max is 3"));
}

TEST_F(ModelRegistryTest, StateOfAFormerlyConfiguredModelIsNotOverwritten) {
  Open();
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  Feed(*registry_->Find("a"), clock_, 3);
  Open();
  EXPECT_THAT(registry_->Create(Named("a")), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  EXPECT_EQ(registry_->Find("a")->Stats().reports_applied(), 3);
}

TEST_F(ModelRegistryTest, DeleteRemovesEverythingAndFreesTheName) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  Feed(*registry_->Find("a"), clock_, 3);
  const auto before = registry_->Find("a")->instance();
  ASSERT_THAT(registry_->Delete("a"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("models/a")));
  EXPECT_EQ(registry_->Find("a"), nullptr);
  EXPECT_THAT(registry_->Delete("a"), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  EXPECT_NE(registry_->Find("a")->instance(), before);
  EXPECT_EQ(registry_->Find("a")->Stats().reports_applied(), 0);
  ASSERT_THAT(registry_->AddConfigured(Named("b")), IsOk());
  EXPECT_THAT(registry_->Delete("b"), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ModelRegistryTest, AnImportedCopyHasTheStateUnderANewInstance) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  HostedModel& original = *registry_->Find("a");
  Feed(original, clock_, 5);
  v1::PutArmsResponse response;
  ASSERT_THAT(original.PutArms(std::vector<server::CatalogueArm>{{3, {0.5, 0}, {"t"}}}, &response),
              IsOk());
  const auto exported = original.Export();
  ASSERT_THAT(exported, IsOk());
  ASSERT_THAT(registry_->Import("copy", *exported), IsOk());
  for (const bool restarted : {false, true}) {
    if (restarted) Open();
    HostedModel& copy = *registry_->Find("copy");
    EXPECT_NE(copy.instance(), registry_->Find("a")->instance());
    EXPECT_EQ(copy.spec().public_spec.name, "copy");
    EXPECT_THAT(copy.ResolveUser("ann"), ::testing::Not(StatusIs(absl::StatusCode::kNotFound)));
    EXPECT_EQ(StatisticsOf(copy)[0].events, 5 + (restarted ? 1 : 0));
    EXPECT_EQ(copy.Stats().reports_applied(), 5 + (restarted ? 1 : 0));
    const auto arms = copy.catalogue();
    EXPECT_EQ(arms->ArmOf(*arms->Find(3)).tags, std::vector<std::string>{"t"});
    if (!restarted) {
      EXPECT_EQ(CodeOf(ReportOne(copy, DecisionOf(copy, clock_, 99, {1, 0}, "ann"), 1)),
                v1::APPLIED);
    }
  }
}

TEST_F(ModelRegistryTest, BadImportsLeaveNothingBehind) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  std::string exported = *registry_->Find("a")->Export();
  EXPECT_THAT(registry_->Import("a", exported), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry_->Import("../x", exported), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(registry_->Import("b", exported.substr(1)), StatusIs(absl::StatusCode::kDataLoss));
  exported[exported.size() / 2] ^= 1;
  EXPECT_THAT(registry_->Import("b", exported), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Names(), ElementsAre("a"));
  Open();
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(ModelRegistryTest, HalfMadeAndHalfDeletedFoldersAreRemovedAtTheStart) {
  ASSERT_THAT(MakeFolders(folder_.File("models/.new-x")), IsOk());
  ASSERT_THAT(MakeFolders(folder_.File("models/.deleted-y")), IsOk());
  Open();
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.File("models")));
}

TEST_F(ModelRegistryTest, ADamagedConfigurationIsDataLoss) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  registry_.reset();
  const std::string path = folder_.File("models/a/config.binpb");
  std::string bytes = *ReadFile(path, 1 << 20);
  bytes[3] ^= 1;
  ASSERT_THAT(WriteFileDurably(path, bytes, 0600), IsOk());
  EXPECT_THAT(ModelRegistry::Open({.data_dir = folder_.path(), .models_max = 3}, clock_),
              StatusIs(absl::StatusCode::kDataLoss, "config.binpb"));
}

}  // namespace
}  // namespace bandana::testing
