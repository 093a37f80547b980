// Aliases: which model takes a user, what may stand behind one, and how the registry keeps them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "common/design/alias.h"
#include "server/models/aliases/alias_file.h"
#include "server/models/aliases/share_of.h"
#include "server/models/registry.h"
#include "tests/support/model_harness.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

AliasSpec AliasOf(std::string name, std::vector<AliasShare> shares) {
  return {.name = std::move(name), .shares = std::move(shares)};
}

std::string UserName(int i) { return absl::StrCat("user-", i); }

const std::string& ModelOf(const AliasSpec& alias, int user) {
  return alias.shares[ShareOf(alias, UserName(user))].model;
}

// Rejects right code with at most 1e-6, and one that ignores the weights nearly always.
TEST(ShareOf, EachModelTakesItsWeightsPartOfTheUsers) {
  constexpr int kUsers = 40'000;
  const AliasSpec alias = AliasOf("feed", {{"a", 90}, {"b", 5}, {"c", 5}});
  const std::array<double, 3> law = {0.9, 0.05, 0.05};
  const std::array<double, 3> mutant = {1.0 / 3, 1.0 / 3, 1.0 / 3};
  const auto test = FitTest::Create(kUsers, law, 1e-6);
  ASSERT_THAT(test, IsOk());
  ASSERT_GE(test->PowerAtLeast(mutant), 0.99);
  std::array<std::uint64_t, 3> counts{};
  for (int i = 0; i < kUsers; ++i) ++counts[ShareOf(alias, UserName(i))];
  EXPECT_TRUE(test->Accepts(counts)) << counts[0] << " " << counts[1] << " " << counts[2];
}

TEST(ShareOf, AChangeOfOneShareMovesOnlyItsUsers) {
  constexpr int kUsers = 5000;
  const AliasSpec before = AliasOf("feed", {{"a", 2}, {"b", 2}, {"c", 1}});
  const AliasSpec heavier = AliasOf("feed", {{"a", 2}, {"b", 5}, {"c", 1}});
  const AliasSpec without = AliasOf("feed", {{"a", 2}, {"c", 1}});
  int to_b = 0;
  int from_b = 0;
  for (int i = 0; i < kUsers; ++i) {
    const std::string& was = ModelOf(before, i);
    const std::string& is = ModelOf(heavier, i);
    if (is != was) {
      EXPECT_EQ(is, "b") << UserName(i);
      ++to_b;
    }
    if (was == "b") {
      ++from_b;
    } else {
      EXPECT_EQ(ModelOf(without, i), was) << UserName(i);
    }
  }
  EXPECT_GT(to_b, 0);
  EXPECT_GT(from_b, 0);
}

TEST(ShareOf, IsOfNamesAndWeightsAlone) {
  const AliasSpec alias = AliasOf("feed", {{"a", 1}, {"b", 1}});
  const AliasSpec turned = AliasOf("feed", {{"b", 1}, {"a", 1}});
  const AliasSpec other = AliasOf("shop", {{"a", 1}, {"b", 1}});
  int differ = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(ModelOf(alias, i), ModelOf(turned, i));
    differ += ModelOf(alias, i) != ModelOf(other, i);
  }
  // Two aliases split the users each in its own way.
  EXPECT_GT(differ, 0);
  // Stored: users must keep their models across versions of this program.
  std::string first;
  for (int i = 0; i < 16; ++i) first += ModelOf(alias, i);
  EXPECT_EQ(first, "bbaaaabaababbbba");
}

absl::Status Parse(const std::string& name, std::vector<std::pair<std::string, int>> shares) {
  v1::Alias alias;
  alias.set_name(name);
  for (const auto& [model, weight] : shares) {
    v1::Share& share = *alias.add_shares();
    share.set_model(model);
    share.set_weight(static_cast<std::uint32_t>(weight));
  }
  std::vector<ConfigError> errors;
  ParseAlias(alias, FieldChecks(errors));
  return ToStatus(errors);
}

TEST(ParseAlias, NamesTheFieldAndTheRule) {
  EXPECT_THAT(Parse("feed", {{"a", 0}, {"b", 1'000'000}}), IsOk());
  EXPECT_THAT(Parse("Feed", {{"a", 1}}), StatusIs(Code::kInvalidArgument, "name: "));
  EXPECT_THAT(Parse("feed", {}), StatusIs(Code::kInvalidArgument, "shares: must be 1 to 16"));
  EXPECT_THAT(Parse("feed", std::vector<std::pair<std::string, int>>(17, {"a", 1})),
              StatusIs(Code::kInvalidArgument, "shares: must be 1 to 16 models, got 17"));
  EXPECT_THAT(Parse("feed", {{"a", 1}, {"a", 2}}),
              StatusIs(Code::kInvalidArgument, "shares[1].model: a has a share already"));
  EXPECT_THAT(Parse("feed", {{"a", 1'000'001}}),
              StatusIs(Code::kInvalidArgument, "shares[0].weight: "));
  EXPECT_THAT(Parse("feed", {{"", 1}}), StatusIs(Code::kInvalidArgument, "shares[0].model: "));
}

constexpr char kLocal[] =
    "dimension: 2 shared {} mode: LOCAL_REWARD reporting { one_per_decision: true } ";

absl::Status Together(const std::string& a, const std::string& b) {
  const ModelSpec one = SpecOf("name: 'a' " + a);
  const ModelSpec other = SpecOf("name: 'b' " + b);
  const std::array<const ModelSpec*, 2> models = {&one, &other};
  return CheckBehindAlias("feed", models);
}

TEST(CheckBehindAlias, ModelsMakeTheSamePromise) {
  const std::string local = kLocal;
  const std::string epsilon2 = local + "privacy { epsilon: 2 }";
  EXPECT_THAT(Together(epsilon2, epsilon2 + " exploration { alpha: 2 }"), IsOk());
  EXPECT_THAT(Together(epsilon2, local + "privacy { epsilon: 1 }"),
              StatusIs(Code::kFailedPrecondition, "alias feed: epsilon of model b is not that"));
  EXPECT_THAT(Together(epsilon2, epsilon2 + " token_lifetime { seconds: 60 }"),
              StatusIs(Code::kFailedPrecondition, "alias feed: token_lifetime of model b"));
  EXPECT_THAT(Together(epsilon2, epsilon2 + " feature_l2_max: 2"),
              StatusIs(Code::kFailedPrecondition, "alias feed: feature_l2_max of model b"));
  EXPECT_THAT(Together("dimension: 2 shared {} mode: NON_PRIVATE", epsilon2),
              StatusIs(Code::kFailedPrecondition, "alias feed: mode of model b"));
  EXPECT_THAT(Together("dimension: 2 shared {} mode: NON_PRIVATE",
                       "dimension: 2 points { } mode: NON_PRIVATE"),
              StatusIs(Code::kFailedPrecondition, "alias feed: "));
}

TEST(CheckBehindAlias, DevicesThatFollowOneModelAreNotSplit) {
  const std::string local = kLocal;
  const std::string counter = local +
                              "privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER "
                              "counter { horizon: 100 steps_max: 1000 } }";
  const std::string contexts =
      "dimension: 2 shared {} mode: LOCAL_CONTEXT reporting { one_per_decision: true } "
      "privacy { epsilon: 1 mechanism: PRIVUNIT }";
  for (const std::string& config : {counter, contexts}) {
    EXPECT_THAT(Together(config, config),
                StatusIs(Code::kFailedPrecondition, "alias feed: shares must be 1"));
    const ModelSpec one = SpecOf("name: 'a' " + config);
    const std::array<const ModelSpec*, 1> alone = {&one};
    EXPECT_THAT(CheckBehindAlias("feed", alone), IsOk());
  }
}

TEST(AliasFile, KeepsWhatWasWrittenAndSeesEveryDamage) {
  const TempDir folder;
  ASSERT_THAT(server::ReadAliases(folder.path()), IsOk());
  EXPECT_THAT(*server::ReadAliases(folder.path()), IsEmpty());
  Aliases aliases;
  aliases["feed"] = AliasOf("feed", {{"a", 95}, {"b", 5}});
  aliases["feed"].policy.fill(std::byte{7});
  aliases["shop"] = AliasOf("shop", {{"a", 1}});
  aliases["shop"].configured = true;
  ASSERT_THAT(server::WriteAliases(folder.path(), aliases), IsOk());
  ASSERT_THAT(server::ReadAliases(folder.path()), IsOk());
  EXPECT_EQ(*server::ReadAliases(folder.path()), aliases);
  const std::string bytes = *ReadFile(folder.File("aliases"), 1 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(folder.File("aliases"), std::ios::binary) << damaged;
    EXPECT_THAT(server::ReadAliases(folder.path()), StatusIs(Code::kDataLoss)) << i;
    std::ofstream(folder.File("aliases"), std::ios::binary) << bytes.substr(0, i);
    EXPECT_THAT(server::ReadAliases(folder.path()), StatusIs(Code::kDataLoss)) << i;
  }
}

class RegistryAliasesTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    registry_.reset();
    ModelRegistry::Options options{.data_dir = folder_.path(), .models_max = 9};
    options.warn = [this](std::string_view, const std::string& message) {
      warnings_ += message + "\n";
    };
    auto registry = ModelRegistry::Open(options, clock_);
    ASSERT_THAT(registry, IsOk());
    registry_ = *std::move(registry);
  }
  static ModelSpec Spec(const std::string& name, const std::string& more = "") {
    return SpecOf("name: '" + name + "' dimension: 2 mode: NON_PRIVATE independent {} " + more);
  }
  void Create(const std::string& name, const std::string& more = "") {
    ASSERT_THAT(registry_->Create(Spec(name, more)), IsOk());
  }
  absl::Status Put(const std::string& name, std::vector<AliasShare> shares) {
    return registry_->PutAlias(AliasOf(name, std::move(shares))).status();
  }
  AliasSpec Configured(const std::string& name, const std::string& model,
                       const std::string& more = "") {
    AliasSpec alias = AliasOf(name, {{model, 1}});
    alias.policy = PolicyUnder(Spec(model, more).public_spec, name);
    return alias;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const AliasSpec& alias : registry_->ListAliases()) names.push_back(alias.name);
    return names;
  }
  // The model that answers the user; "" when none does.
  std::string Answers(const std::string& name, const std::string& user = "ann") {
    const auto named = server::Resolve(*registry_, name);
    if (!named.ok()) return "";
    const auto resolved = named->Of(user);
    return resolved.ok() ? resolved->model->spec().public_spec.name : "";
  }

  TempDir folder_;
  FakeClock clock_;
  std::string warnings_;
  std::unique_ptr<ModelRegistry> registry_;
};

TEST_F(RegistryAliasesTest, AnAliasIsMadeMovedKeptAndDeleted) {
  Create("a");
  Create("b");
  ASSERT_THAT(Put("feed", {{"a", 1}}), IsOk());
  EXPECT_EQ(Answers("feed"), "a");
  ASSERT_THAT(Put("feed", {{"b", 1}}), IsOk());
  EXPECT_EQ(Answers("feed"), "b");
  Open();
  EXPECT_EQ(Answers("feed"), "b");
  ASSERT_THAT(registry_->DeleteAlias("feed"), IsOk());
  EXPECT_THAT(server::Resolve(*registry_, "feed").status(), StatusIs(Code::kNotFound));
  EXPECT_THAT(registry_->DeleteAlias("feed"),
              StatusIs(Code::kNotFound, "alias feed does not exist"));
  Open();
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(RegistryAliasesTest, ModelsAndAliasesShareTheirNames) {
  Create("a");
  ASSERT_THAT(Put("feed", {{"a", 1}}), IsOk());
  EXPECT_THAT(Put("a", {{"a", 1}}), StatusIs(Code::kAlreadyExists, "alias a: a model has"));
  EXPECT_THAT(registry_->Create(Spec("feed")),
              StatusIs(Code::kAlreadyExists, "model feed: an alias has the name"));
  EXPECT_THAT(registry_->AddConfigured(Spec("feed")), StatusIs(Code::kAlreadyExists));
  EXPECT_THAT(Put("again", {{"feed", 1}}),
              StatusIs(Code::kInvalidArgument, "shares[0].model: feed is an alias"));
  EXPECT_THAT(Put("again", {{"none", 1}}), StatusIs(Code::kNotFound, "model: no model `none`"));
  EXPECT_THAT(AbsenceOf(*registry_, "feed"),
              StatusIs(Code::kFailedPrecondition, "model: `feed` is an alias"));
  EXPECT_THAT(registry_->Delete("feed"), StatusIs(Code::kFailedPrecondition));
  EXPECT_THAT(registry_->MayUpdate("feed"), StatusIs(Code::kFailedPrecondition));
}

TEST_F(RegistryAliasesTest, ModelsBehindAnAliasKeepItsPolicy) {
  Create("a");
  Create("b", "token_lifetime { seconds: 60 }");
  ASSERT_THAT(Put("feed", {{"a", 1}}), IsOk());
  EXPECT_THAT(Put("feed", {{"a", 1}, {"b", 1}}),
              StatusIs(Code::kFailedPrecondition, "alias feed: token_lifetime of model b"));
  EXPECT_THAT(
      Put("feed", {{"b", 1}}),
      StatusIs(Code::kFailedPrecondition, "alias feed: its policy would change in token_lifetime"));
  EXPECT_THAT(registry_->Update(Spec("a", "token_lifetime { seconds: 90 }")),
              StatusIs(Code::kFailedPrecondition, "model a is behind an alias: alias feed"));
  EXPECT_THAT(registry_->Delete("a"),
              StatusIs(Code::kFailedPrecondition, "model a is behind alias feed"));
  // Settings that are no part of the policy may change, and the alias follows.
  ASSERT_THAT(registry_->Update(Spec("a", "exploration { alpha: 3 }")), IsOk());
  EXPECT_EQ(Answers("feed"), "a");
  ASSERT_THAT(registry_->DeleteAlias("feed"), IsOk());
  EXPECT_THAT(registry_->Update(Spec("a", "token_lifetime { seconds: 90 }")), IsOk());
  EXPECT_THAT(registry_->Delete("a"), IsOk());
}

TEST_F(RegistryAliasesTest, AModelThatReturnsWithAnotherPolicyIsNotServedUnderTheAlias) {
  ASSERT_THAT(registry_->Configure({Spec("a")}), IsEmpty());
  ASSERT_THAT(Put("feed", {{"a", 1}}), IsOk());
  Open();
  EXPECT_EQ(Answers("feed"), "");
  EXPECT_THAT(server::Resolve(*registry_, "feed")->Of("ann").status(),
              StatusIs(Code::kUnavailable, "alias feed is not served now"));
  EXPECT_TRUE(registry_->HidesReportsOf("feed"));  // nobody knows what it was
  ASSERT_THAT(registry_->Configure({Spec("a", "token_lifetime { seconds: 60 }")}), IsEmpty());
  EXPECT_EQ(Answers("a"), "a");
  EXPECT_EQ(Answers("feed"), "");
  EXPECT_THAT(registry_->AliasTroubles(),
              ElementsAre(HasSubstr("its policy is not the one that devices agreed to")));
  EXPECT_FALSE(registry_->HidesReportsOf("feed"));
  Open();
  ASSERT_THAT(registry_->Configure({Spec("a")}), IsEmpty());
  EXPECT_EQ(Answers("feed"), "a");
  EXPECT_THAT(registry_->AliasTroubles(), IsEmpty());
}

// Reports of decisions that were made under it still come, and are refused.
TEST_F(RegistryAliasesTest, ANameThatWasTakenAwayHidesItsReportsStill) {
  Create("plain");
  EXPECT_FALSE(registry_->HidesReportsOf("feed"));
  ASSERT_THAT(registry_->Create(
                  SpecOf("name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {}"
                         " privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } reporting {"
                         " reward_window { duration { seconds: 60 } default_reward: 0.25 } }")),
              IsOk());
  ASSERT_THAT(Put("feed", {{"m", 1}}), IsOk());
  EXPECT_TRUE(registry_->HidesReportsOf("feed"));
  ASSERT_THAT(registry_->DeleteAlias("feed"), IsOk());
  EXPECT_TRUE(registry_->HidesReportsOf("feed"));
  EXPECT_FALSE(registry_->HidesReportsOf("plain"));
  ASSERT_THAT(registry_->Delete("m"), IsOk());
  EXPECT_FALSE(registry_->HidesReportsOf("feed"));
}

TEST_F(RegistryAliasesTest, TheConfigurationTakesItsAliasesAnew) {
  ASSERT_THAT(registry_->ConfigureAliases({Configured("feed", "a"), Configured("shop", "a")}),
              IsEmpty());
  ASSERT_THAT(registry_->Configure({Spec("a"), Spec("b")}), IsEmpty());
  EXPECT_EQ(Answers("feed"), "a");
  EXPECT_THAT(Put("feed", {{"b", 1}}),
              StatusIs(Code::kFailedPrecondition, "alias feed is in the configuration file"));
  EXPECT_THAT(registry_->DeleteAlias("feed"), StatusIs(Code::kFailedPrecondition));
  ASSERT_THAT(Put("mine", {{"b", 1}}), IsOk());
  // A model behind an alias is not taken out with the file.
  const auto kept = registry_->Configure({Spec("a")});
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].why, StatusIs(Code::kFailedPrecondition, "model b is behind alias mine"));
  EXPECT_EQ(Answers("mine"), "b");
  // The file no longer names `shop`, moves `feed`, and wants `mine`.
  const auto failed =
      registry_->ConfigureAliases({Configured("feed", "b"), Configured("mine", "a")});
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_THAT(failed[0].why, StatusIs(Code::kAlreadyExists, "alias mine of the configuration"));
  EXPECT_THAT(Names(), ElementsAre("feed", "mine"));
  EXPECT_EQ(Answers("feed"), "b");
  EXPECT_EQ(Answers("mine"), "b");
  // Another policy needs another name, also after a restart.
  Open();
  const std::string other = "token_lifetime { seconds: 60 }";
  const auto refused = registry_->ConfigureAliases({Configured("feed", "a", other)});
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_THAT(refused[0].why,
              StatusIs(Code::kFailedPrecondition, "alias feed: its policy would change"));
  ASSERT_THAT(registry_->ConfigureAliases({}), IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("mine"));
}

TEST_F(RegistryAliasesTest, WithADamagedFileUnknownNamesWait) {
  Create("a");
  ASSERT_THAT(Put("feed", {{"a", 1}}), IsOk());
  const std::string bytes = *ReadFile(folder_.File("aliases"), 1 << 20);
  ASSERT_THAT(WriteFileDurably(folder_.File("aliases"), "damaged", 0600), IsOk());
  Open();
  EXPECT_THAT(warnings_, HasSubstr("aliases are unknown"));
  EXPECT_EQ(Answers("a"), "a");
  EXPECT_THAT(server::Resolve(*registry_, "feed").status(), StatusIs(Code::kUnavailable));
  EXPECT_THAT(Put("shop", {{"a", 1}}), StatusIs(Code::kUnavailable));
  EXPECT_EQ(*ReadFile(folder_.File("aliases"), 1 << 20), "damaged");
  // Aliases of the configuration are known without the file.
  ASSERT_THAT(registry_->ConfigureAliases({Configured("shop", "a")}), IsEmpty());
  EXPECT_EQ(Answers("shop"), "a");
  ASSERT_THAT(WriteFileDurably(folder_.File("aliases"), bytes, 0600), IsOk());
  ASSERT_THAT(registry_->ConfigureAliases({Configured("shop", "a")}), IsEmpty());
  EXPECT_EQ(Answers("feed"), "a");
  ASSERT_THAT(Put("feed", {{"a", 2}}), IsOk());
}

}  // namespace
}  // namespace bandana::server
