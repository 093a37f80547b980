// Every recipe is a configuration that a server serves.
#include "server/ops/config/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_split.h"
#include "common/base/file.h"
#include "common/design/family.h"
#include "server/ops/config/config_file.h"
#include "server/ops/config/config_summary.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

TEST(RecipesTest, EachPassesTheCheck) {
  const TempDir folder;
  const std::vector<std::string> names = absl::StrSplit(RecipeNames(), '|');
  EXPECT_THAT(names, ::testing::ElementsAre("clicks", "ratings", "notifications", "catalogue",
                                            "personalizer"));
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto recipe = Recipe(name);
    ASSERT_THAT(recipe, IsOk());
    ASSERT_THAT(WriteFileDurably(folder.File(name), *recipe, 0644), IsOk());
    const auto config = LoadConfig(folder.File(name), {.data_dir = folder.File("data")});
    ASSERT_THAT(config, IsOk());
    for (const ConfigMistake& mistake : config->mistakes) ADD_FAILURE() << ToString(name, mistake);
    ASSERT_TRUE(config->spec.has_value());
    ASSERT_EQ(config->spec->models.size(), 1u);
    EXPECT_EQ(config->spec->models[0].public_spec.name, name);
    // Devices of a private model may choose by themselves.
    const ModelSpec& spec = config->spec->models[0];
    if (spec.public_spec.mode != Mode::kNonPrivate) {
      EXPECT_THAT(FamilyOf(spec).CheckRankedByDevices(spec), IsOk());
    }
    if (name == "personalizer") continue;  // hashes its features
    EXPECT_NE(config->spec->models[0].public_spec.features, nullptr);
    EXPECT_THAT(Summary(*config->spec), ::testing::HasSubstr("bias"));
  }
}

TEST(RecipesTest, ThoseToTryLearnWithinSeconds) {
  const TempDir folder;
  const std::vector<std::string> names = absl::StrSplit(RecipeNames(), '|');
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto recipe = Recipe(name, /*to_try=*/true);
    ASSERT_THAT(recipe, IsOk());
    EXPECT_THAT(*recipe, ::testing::StartsWith("# To try it out"));
    ASSERT_THAT(WriteFileDurably(folder.File(name), *recipe, 0644), IsOk());
    const auto config = LoadConfig(folder.File(name), {.data_dir = folder.File("data")});
    ASSERT_THAT(config, IsOk());
    for (const ConfigMistake& mistake : config->mistakes) ADD_FAILURE() << ToString(name, mistake);
    ASSERT_TRUE(config->spec.has_value());
    const auto& window = config->spec->models[0].public_spec.reward_window;
    if (window) {
      EXPECT_LE(window->duration, absl::Seconds(10));
    }
  }
}

TEST(RecipesTest, ThePersonalizerExploresAndBeginsAsAnApprentice) {
  const TempDir folder;
  const std::string file = folder.File("recipe");
  ASSERT_THAT(WriteFileDurably(file, *Recipe("personalizer"), 0644), IsOk());
  const auto config = LoadConfig(file, {.data_dir = folder.File("data")});
  ASSERT_THAT(config, IsOk());
  ASSERT_TRUE(config->spec.has_value());
  EXPECT_TRUE(config->spec->models[0].config.policy().has_uniform_mix());
  ASSERT_TRUE(config->spec->api.has_value());
  EXPECT_TRUE(config->spec->api->personalizer.apprentice);
}

TEST(RecipesTest, OtherNamesAreRefused) {
  EXPECT_THAT(Recipe("films"), StatusIs(absl::StatusCode::kNotFound,
                                        "no recipe is named so; there are "
                                        "clicks|ratings|notifications|catalogue|personalizer"));
}

}  // namespace
}  // namespace bandana::server
