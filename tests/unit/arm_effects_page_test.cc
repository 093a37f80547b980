// GetArmEffects and GetPosterior of a model of effects: together they say what Select scores.
#include "server/service/arm_effects_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/ranking/scoring.h"
#include "server/service/arm_set.h"
#include "server/service/posterior_page.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kGroups[] = "user_groups: 'plan' arm_groups: 'genre' ";
constexpr char kShared[] =
    "effects { name: 'shared' } effects { name: 'constant' features: CONSTANT } ";
constexpr char kOfArms[] =
    "effects { name: 'user' keys { user: true } }"
    "effects { name: 'plan' keys { user_group: 'plan' } features: CONSTANT }"
    "effects { name: 'arm' keys { arm: true } features: CONSTANT }"
    "effects { name: 'genre' keys { arm_group: 'genre' } features: CONSTANT } ";

ModelSpec EffectsOf(const std::string& effects) {
  return SpecOf(
      absl::StrCat("name: 'm' dimension: 2 mode: NON_PRIVATE effects { ", kGroups, effects, "}"));
}

class ArmEffectsPageTest : public HostedModelTest {
 protected:
  std::unique_ptr<HostedModel> OpenWithArms(const std::string& effects) {
    auto model = Open(EffectsOf(effects));
    v1::PutArmsResponse response;
    EXPECT_THAT(model->PutArms(std::vector<CatalogueArm>{{7, {1, 0}, {"new"}, {{"genre", "rock"}}},
                                                         {8, {0, 1}, {}, {{"genre", "rock"}}},
                                                         {9, {0, 1}, {"new"}, {}}},
                               &response),
                IsOk());
    return model;
  }
  static std::vector<EffectKey> KeysOf(const HostedModel& model, std::uint32_t arm) {
    const auto entry = model.catalogue()->Find(arm);
    if (!entry) return {ArmKey(arm), kAbsent};
    return {entry->keys.begin(), entry->keys.end()};
  }
  static std::vector<EffectKey> UserOf(const HostedModel& model, const std::string& user) {
    std::vector<EffectKey> keys;
    model.UserParts(user, keys);
    return keys;
  }
  void Learn(HostedModel& model, const std::string& user, std::uint32_t arm, double reward) {
    Decision decision = DecisionOf(model, clock_, ++number_, {0.6, 0.8}, user);
    decision.arms[0].keys = UserOf(model, user);
    for (const EffectKey key : KeysOf(model, arm)) decision.arms[0].keys.push_back(key);
    ASSERT_EQ(CodeOf(ReportOne(model, decision, reward)), v1::APPLIED);
  }
  void LearnSome(HostedModel& model) {
    for (int i = 0; i < 40; ++i) Learn(model, absl::StrCat("u", i % 3), 7 + i % 3, 0.1 * (i % 9));
    WaitApplied(model);
  }
  static absl::StatusOr<v1::GetArmEffectsResponse> Ask(const HostedModel& model,
                                                       const v1::GetArmEffectsRequest& request) {
    v1::GetArmEffectsResponse response;
    const absl::Status status = FillArmEffects(model, request, response);
    if (!status.ok()) return status;
    return response;
  }

  std::uint64_t number_ = 0;
};

TEST_F(ArmEffectsPageTest, WithThePosteriorItIsWhatSelectScores) {
  const auto model = OpenWithArms(absl::StrCat(kShared, kOfArms));
  LearnSome(*model);
  const auto arms = Ask(*model, {});
  ASSERT_THAT(arms, IsOk());
  EXPECT_EQ(arms->version(), model->posterior()->version());
  EXPECT_EQ(arms->next_arm(), 0);
  ASSERT_THAT(arms->ids(), ElementsAre(7, 8, 9));
  ASSERT_EQ(arms->means_size(), 3);
  ASSERT_EQ(arms->variances_size(), 3);

  v1::GetPosteriorRequest request;
  request.set_user("u1");
  v1::GetPosteriorResponse posterior;
  ASSERT_THAT(FillPosterior(*model, request, posterior), IsOk());
  EXPECT_NE(posterior.constant_mean(), 0);
  EXPECT_GT(posterior.constant_variance(), 0);
  const std::vector<double> x = {0.8, -0.6};
  NodePosterior node{.mean = {posterior.means(0), posterior.means(1)},
                     .covariance = {posterior.covariances(0), posterior.covariances(1),
                                    posterior.covariances(1), posterior.covariances(2)},
                     .alpha = posterior.alphas(0)};
  const std::vector<EffectKey> user = UserOf(*model, "u1");
  for (const auto& [arm, mean, variance] : std::vector<std::tuple<std::uint32_t, double, double>>{
           {7, arms->means(0), arms->variances(0)},
           {8, arms->means(1), arms->variances(1)},
           {9, arms->means(2), arms->variances(2)},
           {99, arms->unknown_mean(), arms->unknown_variance()}}) {
    SCOPED_TRACE(arm);
    ArmScores here;
    ScoreArms(node, x, here);
    AddToArm(0, posterior.constant_mean() + mean, posterior.constant_variance() + variance,
             node.alpha, here);
    ArmScores there;
    NodePosterior scratch;
    const std::vector<EffectKey> keys = KeysOf(*model, arm);
    const double* const features = x.data();
    model->posterior()->Score({.keys = user}, {.features = {&features, 1}, .keys = keys}, scratch,
                              there);
    EXPECT_NEAR(here.means[0], there.means[0], 1e-6);
    EXPECT_NEAR(here.widths[0], there.widths[0], 1e-6);
    EXPECT_NEAR(here.scores[0], there.scores[0], 1e-6);
  }
  EXPECT_EQ(arms->unknown_mean(), 0);
  EXPECT_GT(arms->unknown_variance(), arms->variances(0) / 2);
}

TEST_F(ArmEffectsPageTest, WithoutUserItIsThePosteriorOfOneOfWhomNothingIsKnown) {
  const auto model = OpenWithArms(absl::StrCat(kShared, kOfArms));
  LearnSome(*model);
  v1::GetPosteriorResponse nobody;
  ASSERT_THAT(FillPosterior(*model, {}, nobody), IsOk());
  v1::GetPosteriorRequest request;
  request.set_user("never seen");
  v1::GetPosteriorResponse unseen;
  ASSERT_THAT(FillPosterior(*model, request, unseen), IsOk());
  EXPECT_EQ(nobody.SerializeAsString(), unseen.SerializeAsString());
  EXPECT_EQ(nobody.next_node(), 0);
  EXPECT_EQ(nobody.alphas_size(), 1);
  request.set_user("u1");
  v1::GetPosteriorResponse seen;
  ASSERT_THAT(FillPosterior(*model, request, seen), IsOk());
  EXPECT_LT(seen.covariances(0), nobody.covariances(0));
}

TEST_F(ArmEffectsPageTest, ATagIsAQuery) {
  const auto model = OpenWithArms(absl::StrCat(kShared, kOfArms));
  LearnSome(*model);
  const auto all = Ask(*model, {});
  v1::GetArmEffectsRequest request;
  request.set_tag("new");
  const auto tagged = Ask(*model, request);
  ASSERT_THAT(tagged, IsOk());
  ASSERT_THAT(tagged->ids(), ElementsAre(7, 9));
  EXPECT_EQ(tagged->means(1), all->means(2));
  request.set_tag("nobody has it");
  const auto none = Ask(*model, request);
  ASSERT_THAT(none, IsOk());
  EXPECT_THAT(none->ids(), IsEmpty());
  EXPECT_EQ(none->next_arm(), 0);
  EXPECT_EQ(none->unknown_variance(), all->unknown_variance());
}

TEST_F(ArmEffectsPageTest, IsConditionalOnTheVersionAndBegins) {
  const auto model = OpenWithArms(absl::StrCat(kShared, kOfArms));
  LearnSome(*model);
  v1::GetArmEffectsRequest request;
  const std::uint64_t version = model->posterior()->version();
  request.set_if_newer_than(version);
  auto same = Ask(*model, request);
  ASSERT_THAT(same, IsOk());
  EXPECT_TRUE(same->not_modified());
  EXPECT_EQ(same->ids_size(), 0);
  request.set_if_newer_than(version - 1);
  EXPECT_EQ(Ask(*model, request)->ids_size(), 3);
  request.set_first_arm(8);
  EXPECT_THAT(Ask(*model, request)->ids(), ElementsAre(8, 9));
  request.set_first_arm(0xffffffff);
  EXPECT_THAT(Ask(*model, request)->ids(), IsEmpty());
}

TEST_F(ArmEffectsPageTest, PagesCoverAllArmsOnce) {
  const auto model = Open(EffectsOf(absl::StrCat(kShared, kOfArms)));
  constexpr std::uint32_t kArms = 2 * server::kArmEffectsPageArms + 5;
  std::vector<CatalogueArm> arms;
  for (std::uint32_t i = 0; i < kArms; ++i) {
    arms.push_back({.id = 3 * i, .features = {1, 0}, .tags = {i % 2 == 0 ? "even" : "odd"}});
  }
  v1::PutArmsResponse response;
  ASSERT_THAT(model->PutArms(arms, &response), IsOk());
  for (const std::uint32_t step : {1u, 2u}) {
    v1::GetArmEffectsRequest request;
    if (step == 2) request.set_tag("even");
    std::uint32_t next = 0;
    int pages = 0;
    do {
      const auto page = Ask(*model, request);
      ASSERT_THAT(page, IsOk());
      EXPECT_LE(page->ids_size(), server::kArmEffectsPageArms);
      EXPECT_LT(page->ByteSizeLong(), 200'000);
      for (const std::uint32_t id : page->ids()) {
        ASSERT_EQ(id, 3 * next);
        next += step;
      }
      request.set_first_arm(page->next_arm());
      ++pages;
    } while (request.first_arm() != 0);
    EXPECT_GE(next, kArms);
    EXPECT_EQ(pages, step == 1 ? 3 : 2);
  }
}

TEST_F(ArmEffectsPageTest, BadRequestsAreNamed) {
  const auto model = OpenWithArms(absl::StrCat(kShared, kOfArms));
  v1::GetArmEffectsRequest request;
  request.set_first_arm(std::uint64_t{1} << 32);
  EXPECT_THAT(Ask(*model, request), StatusIs(Code::kInvalidArgument, "first_arm: must be in"));
  request.set_first_arm(0);
  request.set_tag(std::string(65, 't'));
  EXPECT_THAT(Ask(*model, request), StatusIs(Code::kInvalidArgument, "tag: must have at most 64"));
}

// Where an arm is more than a mean and a variance of its own the server ranks.
TEST_F(ArmEffectsPageTest, OtherModelsHaveNone) {
  const struct {
    std::string effects;
    std::string reason;
    bool ranked_here;
  } cases[] = {
      {"", "has no effects of arms", true},
      {"effects { name: 'tastes' keys { arm: true } }", "tastes is of the features", false},
      {"effects { name: 'pair' keys { user: true } keys { arm: true } features: CONSTANT }",
       "pair is of pairs", false}};
  for (const auto& [effects, reason, ranked_here] : cases) {
    SCOPED_TRACE(reason);
    const TempDir folder;
    auto model = HostedModel::Open(EffectsOf(absl::StrCat(kShared, effects)), folder.path(), clock_,
                                   options_);
    ASSERT_THAT(model, IsOk());
    EXPECT_THAT(Ask(**model, {}), StatusIs(Code::kFailedPrecondition, reason));
    v1::GetPosteriorResponse posterior;
    const absl::Status status = FillPosterior(**model, {}, posterior);
    EXPECT_THAT(status,
                ranked_here ? StatusIs(Code::kOk) : StatusIs(Code::kFailedPrecondition, reason));
  }
  const auto linear = Open(SharedSpec());
  EXPECT_THAT(Ask(*linear, {}), StatusIs(Code::kFailedPrecondition, "not of effects"));
  v1::GetPosteriorResponse posterior;
  ASSERT_THAT(FillPosterior(*linear, {}, posterior), IsOk());
  EXPECT_EQ(posterior.constant_mean(), 0);
  EXPECT_EQ(posterior.constant_variance(), 0);
}

TEST_F(ArmEffectsPageTest, InlineArmsAreInTheGroupsOfTheirIds) {
  const auto model = OpenWithArms(absl::StrCat(kShared, kOfArms));
  v1::ArmSet arms;
  for (const double x : {1.0, 0.0, 1.0, 0.0, 1.0, 0.0}) {
    arms.mutable_inline_arms()->add_features(x);
  }
  for (const std::uint32_t id : {7u, 99u, server::kNoArmId})
    arms.mutable_inline_arms()->add_ids(id);
  server::ArmBlock block;
  ASSERT_THAT(LoadArms(arms, {.dimension = 2}, 10, *model->catalogue(), block), IsOk());
  EXPECT_THAT(block.keys, ElementsAre(ArmKey(7), GroupKey("genre", "rock"), ArmKey(99), kAbsent,
                                      kAbsent, kAbsent));
}

}  // namespace
}  // namespace bandana::server
