// The search through a catalogue finds what scoring all arms finds, while the model learns and arms
// come, change and go.
#include "server/service/catalogue_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/bandits/effects/effects_posterior.h"
#include "server/models/catalogue/arm_beliefs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr int kDimension = 5;
constexpr int kArms = 3000;

class Served final : public ServedPosterior {
 public:
  explicit Served(const EffectsPosterior& effects) : effects_(effects) {}
  std::uint64_t version() const override { return 0; }
  int nodes() const override { return 1; }
  const NodePosterior& Of(const Whom& whom, NodePosterior& scratch) const override {
    effects_.Sum(whom.keys, scratch);
    return scratch;
  }
  void Score(const Whom& whom, const ArmsOnOffer& arms, NodePosterior& scratch,
             ArmScores& out) const override {
    effects_.Score(whom.keys, arms, scratch, out);
  }
  std::optional<ScoreLaw> Law(const Whom& whom, NodePosterior& scratch) const override {
    return effects_.Law(whom.keys, scratch);
  }

 private:
  const EffectsPosterior& effects_;
};

class CatalogueSearchTest : public ::testing::Test {
 protected:
  void Add(const std::string& name, bool vector, double prior, EffectScope scope) {
    Effect effect;
    effect.name = name;
    effect.vector = vector;
    effect.prior_variance = prior;
    options_.effects.push_back(effect);
    options_.scopes.push_back(scope);
  }

  CatalogueSearchTest() {
    options_.dimension = kDimension;
    options_.user_parts = 2;
    options_.arm_parts = 2;
    options_.reward_variance = 0.1;
    options_.exploration.kind = ExplorationRule::Kind::kConstant;
    options_.exploration.alpha = 0.2;
    Add("shared", true, 0.1, {});
    Add("constant", false, 0.1, {});
    Add("country", true, 0.05, {.user = 1});
    Add("user", true, 0.02, {.user = 0});
    Add("arm", false, 0.03, {.arm = 0});
    Add("genre", false, 0.03, {.arm = 1});
  }

  CatalogueArm MakeArm(std::uint32_t id) {
    CatalogueArm arm{.id = id, .features = rng_.UnitVector(kDimension), .tags = {}};
    if (id % 3 == 0) arm.tags.push_back("fizz");
    if (id % 500 == 0) arm.tags.push_back("rare");
    if (id % 4 != 0) arm.groups["genre"] = "g" + std::to_string(rng_.Index(7));
    if (id % 5 != 0) arm.facts.fields["price"] = id % 100;
    if (id % 7 == 0) arm.facts.available_from = absl::FromUnixSeconds(id % 10);
    return arm;
  }

  void Begin() {
    effects_ = *EffectsPosterior::Create(options_);
    std::vector<CatalogueArm> arms;
    for (std::uint32_t id = 0; id < kArms; ++id) arms.push_back(MakeArm(3 * id));
    catalogue_ =
        Catalogue::Make({.dimension = kDimension, .has_keys = true, .groups = {"genre"}}, arms);
    beliefs_.Follow(effects_.get());
    beliefs_.Begin();
    effects_->Watch([this](std::span<const EffectKey> arm) { beliefs_.Note(arm); });
    beliefs_.Fill(*catalogue_, {});
    beliefs_.End(catalogue_);
  }

  std::vector<EffectKey> User() {
    return {UserKey("u" + std::to_string(rng_.Index(20))),
            rng_.Uniform() < 0.2 ? kAbsent : GroupKey("country", std::to_string(rng_.Index(4)))};
  }

  void Learn(int events) {
    for (int i = 0; i < events; ++i) {
      const auto page =
          static_cast<std::size_t>(rng_.Index(static_cast<int>(catalogue_->pages().size())));
      const auto arm = catalogue_->At(
          page, static_cast<std::uint32_t>(rng_.Index(3)) % catalogue_->pages()[page]->size());
      EffectsEvent event;
      event.parts = User();
      event.parts.insert(event.parts.end(), arm.keys.begin(), arm.keys.end());
      event.features.assign(arm.features.begin(), arm.features.end());
      event.reward = arm.features[0] + (arm.id % 7 == 0 ? 0.5 : 0) + 0.3 * rng_.Normal();
      effects_->Add(std::move(event));
    }
    effects_->Show();
  }

  // Arms that change, come and go; events arrive while the next catalogue is made.
  void Change() {
    std::vector<CatalogueArm> arms;
    for (int i = 0; i < 20; ++i) {
      arms.push_back(MakeArm(static_cast<std::uint32_t>(3 * rng_.Index(kArms + 200))));
    }
    std::vector<std::uint32_t> removed;
    for (int i = 0; i < 5; ++i) {
      removed.push_back(static_cast<std::uint32_t>(3 * rng_.Index(kArms) + 90'000));
    }
    beliefs_.Begin();
    auto next = catalogue_->With(arms, removed);
    Learn(20);
    beliefs_.Fill(*next, arms);
    Learn(20);
    beliefs_.End(next);
    catalogue_ = next;
  }

  void ExpectSame(const std::vector<std::string>& tags, int top_k, std::uint64_t tie_key,
                  const server::OfferRules& offer = {},
                  const std::vector<server::CompiledBoost>& boosts = {}) {
    const Served served(*effects_);
    const std::vector<EffectKey> user = User();
    v1::ArmSet arms;
    for (const std::string& tag : tags) arms.mutable_catalogue_query()->add_tags_any(tag);
    arms.mutable_catalogue_query();
    ArmBlock all;
    ArmScores scores;
    NodePosterior scratch;
    ASSERT_THAT(
        server::LoadArms(arms, {.dimension = kDimension}, 1'000'000, *catalogue_, all, offer),
        IsOk());
    const Whom whom{.node = 0, .keys = user};
    served.Score(whom, {.features = all.arms, .keys = all.keys}, scratch, scores);
    for (std::size_t i = 0; i < all.ids.size(); ++i) {
      scores.scores[i] += server::BoostOf(boosts, *catalogue_->Find(all.ids[i]));
    }
    const std::vector<int> expected = RankArms(scores.scores, top_k, tie_key);

    ArmBlock found;
    ArmScores found_scores;
    const server::ArmFilter filter = server::FilterOf(arms.catalogue_query(), offer);
    const auto count = server::SearchArms({.filter = filter,
                                           .named = none_,
                                           .catalogue = *catalogue_,
                                           .posterior = served,
                                           .whom = whom,
                                           .top_k = top_k,
                                           .tie_key = tie_key,
                                           .boosts = boosts},
                                          scratch, found, found_scores);
    ASSERT_TRUE(count);
    EXPECT_EQ(count->arms, static_cast<int>(all.arms.size()));
    EXPECT_EQ(found.positions, expected);
    ASSERT_EQ(found.arms.size(), expected.size());
    const std::size_t parts = 2;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto at = static_cast<std::size_t>(expected[i]);
      EXPECT_EQ(found.ids[i], all.ids[at]);
      EXPECT_EQ(found.arms[i], all.arms[at]);
      EXPECT_EQ(found.keys[i * parts], all.keys[at * parts]);
      EXPECT_EQ(found.keys[i * parts + 1], all.keys[at * parts + 1]);
      EXPECT_EQ(found_scores.means[i], scores.means[at]);
      EXPECT_EQ(found_scores.widths[i], scores.widths[at]);
      EXPECT_EQ(found_scores.scores[i], scores.scores[at]);
    }
    scored_ = static_cast<double>(count->scored) / count->arms;
  }

  TestRng rng_{3};
  EffectsPosterior::Options options_;
  std::shared_ptr<EffectsPosterior> effects_;
  server::ArmBeliefs beliefs_;
  const server::NamedFeatures none_;
  std::shared_ptr<const Catalogue> catalogue_;
  double scored_ = 0;
};

TEST_F(CatalogueSearchTest, FindsWhatScoringAllFinds) {
  for (const bool weights : {false, true}) {
    SCOPED_TRACE(weights);
    options_.weights = weights;
    Begin();
    ExpectSame({}, 10, 1);  // all score alike
    for (int round = 0; round < 30; ++round) {
      Learn(100);
      ExpectSame({}, 1 + round % 16, static_cast<std::uint64_t>(round));
      if (round > 5) {
        EXPECT_LT(scored_, 0.2);
      }
      ExpectSame({"fizz"}, 10, 1);
      ExpectSame({"rare", "unknown"}, 3, 1);
      const server::OfferRules tenth{.where = {{.field = "price", .least = 50, .most = 60}},
                                     .now = absl::FromUnixSeconds(round % 10)};
      ExpectSame({}, 10, 1, tenth);
      if (round > 5) {
        EXPECT_LT(scored_, 0.5);
      }
      using Boost = server::CompiledBoost;
      const std::vector<Boost> boosts = {
          {.of = Boost::Of::kTag, .number = catalogue_->FindTag("fizz"), .add = 0.3},
          {.of = Boost::Of::kGroup,
           .number = catalogue_->group_values(0).Find("g3"),
           .group = 0,
           .add = round % 2 == 0 ? -1e6 : 0.1},
          {.of = Boost::Of::kArm, .number = 30, .add = 2}};
      ExpectSame({}, 10, 1, {}, boosts);
      ExpectSame({"fizz"}, 10, 1, tenth, boosts);
      Change();
      ExpectSame({}, 10, 1);
      if (HasFailure()) FAIL() << "round " << round;
    }
  }
}

TEST_F(CatalogueSearchTest, IsForManyArmsWithinTheLimit) {
  Begin();
  v1::ArmSet arms;
  EXPECT_FALSE(server::IsForSearch(arms, 1'000'000, *catalogue_));
  arms.mutable_catalogue_query();
  EXPECT_TRUE(server::IsForSearch(arms, 3000, *catalogue_));
  EXPECT_FALSE(server::IsForSearch(arms, 2999, *catalogue_));
  const auto priced = [](double most) {
    return server::OfferRules{.where = {{.field = "price", .most = most}}};
  };
  EXPECT_TRUE(server::IsForSearch(arms, 3000, *catalogue_, priced(95)));
  EXPECT_FALSE(server::IsForSearch(arms, 3000, *catalogue_, priced(20)));
  EXPECT_FALSE(server::IsForSearch(arms, 2100, *catalogue_, priced(95)));
  arms.mutable_catalogue_query()->add_tags_any("rare");
  EXPECT_FALSE(server::IsForSearch(arms, 1'000'000, *catalogue_));
}

// Effects of a pair, or of features, are an arm's own in another way: every arm has to be scored.
TEST_F(CatalogueSearchTest, ScoresAllWhereArmsAreNotApart) {
  Add("pair", false, 0.01, {.user = 1, .arm = 0});
  const auto pairs = *EffectsPosterior::Create(options_);
  NodePosterior scratch;
  EXPECT_FALSE(pairs->Law({}, scratch));
  options_.scopes.back() = {.arm = 1};
  EXPECT_TRUE((*EffectsPosterior::Create(options_))->Law({}, scratch));
  options_.weights = true;  // two weights of one part
  EXPECT_FALSE((*EffectsPosterior::Create(options_))->Law({}, scratch));
  options_.weights = false;
  options_.effects.back().vector = true;
  EXPECT_FALSE((*EffectsPosterior::Create(options_))->Law({}, scratch));
}

}  // namespace
}  // namespace bandana::server
