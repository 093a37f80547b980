// Rules of a decision through Select: filters, times, boosts, pins, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/ranking/policies/selection_rules.h"
#include "server/service/recommender.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class ServedRulesTest : public ::bandana::testing::ServiceTest {
 protected:
  // Arms 1 to 5 with means 0.5, 0.4, 0.3, 0.2, 0.1; no width.
  ServedRulesTest() { Fill(model_); }

  void Fill(FakeModel& model) {
    NodePosterior node{.mean = {1}, .covariance = {0}, .alpha = 0};
    model.SetPosterior(std::make_shared<const PosteriorSnapshot>(1, node, 1));
    const absl::Time now = clock_.Now();
    const auto facts = [](double price, double stock) {
      return ArmFacts{.fields = {{"price", price}, {"stock", stock}}};
    };
    std::vector<CatalogueArm> arms = {
        {.id = 1, .features = {0.5}, .tags = {"ad"}, .groups = {{"genre", "rock"}}, .name = "one"},
        {.id = 2, .features = {0.4}, .tags = {"ad"}, .groups = {{"genre", "rock"}}},
        {.id = 3, .features = {0.3}, .tags = {}, .groups = {{"genre", "jazz"}}},
        {.id = 4, .features = {0.2}, .tags = {"new"}, .groups = {{"genre", "rock"}}},
        {.id = 5, .features = {0.1}, .tags = {}, .groups = {}}};
    arms[0].facts = facts(30, 1);
    arms[1].facts = facts(20, 0);
    arms[2].facts = facts(19.5, 4);
    arms[3].facts = facts(5, 2);
    arms[3].facts.available_from = now + absl::Hours(1);
    arms[3].facts.available_to = now + absl::Hours(2);
    model.SetCatalogue(
        Catalogue::Make({.dimension = 1, .has_keys = true, .groups = {"genre"}}, arms));
  }

  static v1::SelectRequest Query(int top_k = 5, const std::string& model = "m") {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    request.set_top_k(static_cast<std::uint32_t>(top_k));
    request.mutable_arms()->mutable_catalogue_query();
    return request;
  }
  static v1::SelectRequest Ids(const std::vector<std::uint32_t>& ids) {
    v1::SelectRequest request = Query();
    request.mutable_arms()->mutable_catalogue_arms()->mutable_ids()->Add(ids.begin(), ids.end());
    return request;
  }
  static v1::FieldRange& Where(v1::SelectRequest& request, const std::string& field) {
    v1::FieldRange& range = *request.mutable_rules()->add_where();
    range.set_field(field);
    return range;
  }
  static void Pin(v1::SelectRequest& request, std::uint32_t id, int rank) {
    v1::Pin& pin = *request.mutable_rules()->add_pins();
    pin.set_id(id);
    pin.set_rank(static_cast<std::uint32_t>(rank));
  }
  static void Limit(v1::SelectRequest& request, const std::string& group, int count) {
    v1::GroupLimit& limit = *request.mutable_rules()->add_at_most();
    limit.set_group(group);
    limit.set_count(static_cast<std::uint32_t>(count));
  }
  absl::Status Select(const v1::SelectRequest& request) {
    response_.Clear();
    return recommender_->Select(request, response_);
  }
  void ExpectRefused(const v1::SelectRequest& request, Code code, const std::string& message) {
    EXPECT_THAT(Select(request), StatusIs(code, message));
  }

  FakeModel& model_ = registry_.Add(PlainSpec("m", 1));
  std::unique_ptr<Handlers> recommender_ = MakeRecommender(
      {.arms_per_request_max = 100, .batch_decisions_max = 4}, registry_, tokens_, clock_);
  v1::SelectResponse response_;
};

TEST_F(ServedRulesTest, OffersArmsWithinTheRangesAndTheirTimes) {
  ASSERT_THAT(Select(Query()), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 2, 3, 5));  // 4 is not available yet
  v1::SelectRequest cheap = Query();
  Where(cheap, "price").set_below(20);
  ASSERT_THAT(Select(cheap), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(3));
  cheap.mutable_rules()->mutable_where(0)->set_max(20);
  cheap.mutable_rules()->mutable_where(0)->clear_below();
  ASSERT_THAT(Select(cheap), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(2, 3));
  Where(cheap, "stock").set_above(0);
  ASSERT_THAT(Select(cheap), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(3));
  clock_.Advance(absl::Hours(1));
  ASSERT_THAT(Select(cheap), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(3, 4));
  clock_.Advance(absl::Hours(1));
  ASSERT_THAT(Select(cheap), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(3));
}

TEST_F(ServedRulesTest, PositionsOfArmsByIdStayThoseOfTheRequest) {
  v1::SelectRequest request = Ids({5, 1, 4, 2, 3});
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(response_.positions(), ElementsAre(1, 3, 4, 0));
  Where(request, "price").set_min(19);
  request.set_baseline(4);
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(3, 1, 2));
  EXPECT_THAT(response_.positions(), ElementsAre(4, 1, 3));
  request.set_baseline(2);
  ExpectRefused(request, Code::kInvalidArgument, "baseline: no arm on offer has position 2");
}

TEST_F(ServedRulesTest, ABoostIsPartOfTheScoreAlone) {
  v1::SelectRequest request = Query();
  v1::Boost& group = *request.mutable_rules()->add_boosts();
  group.mutable_group()->set_name("genre");
  group.mutable_group()->set_value("jazz");
  group.set_add(0.25);
  v1::Boost& tag = *request.mutable_rules()->add_boosts();
  tag.set_tag("ad");
  tag.set_add(-0.125);
  v1::Boost& name = *request.mutable_rules()->add_boosts();
  name.set_name("one");
  name.set_add(-0.25);
  v1::Boost& id = *request.mutable_rules()->add_boosts();
  id.set_id(5);
  id.set_add(0.5);
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(5, 3, 2, 1));
  EXPECT_THAT(response_.scores(),
              ElementsAre(DoubleEq(0.6), DoubleEq(0.55), DoubleEq(0.275), DoubleEq(0.125)));
  EXPECT_THAT(response_.means(),
              ElementsAre(DoubleEq(0.1), DoubleEq(0.3), DoubleEq(0.4), DoubleEq(0.5)));
  EXPECT_THAT(response_.propensities(), ElementsAre(1, 0, 0, 0));
}

TEST_F(ServedRulesTest, ABoostMovesWhateverThePolicyGoesBy) {
  ModelSpec spec = PlainSpec("gap", 1);
  spec.policy = MakeInverseGap(10);
  Fill(registry_.Add(spec));
  v1::SelectRequest request = Query(1, "gap");
  v1::Boost& boost = *request.mutable_rules()->add_boosts();
  boost.set_id(5);
  boost.set_add(0.9);
  // Means with boosts: 0.5, 0.4, 0.3, and 1.0 of arm 5, of four arms.
  const double rest = 1 / (4 + 10 * 0.5) + 1 / (4 + 10 * 0.6) + 1 / (4 + 10 * 0.7);
  for (int i = 0; i < 40; ++i) {
    ASSERT_THAT(Select(request), IsOk());
    if (response_.arm_ids(0) != 5) continue;
    EXPECT_DOUBLE_EQ(response_.propensities(0), 1 - rest);
    return;
  }
  FAIL() << "arm 5 was never shown";
}

TEST_F(ServedRulesTest, APinnedArmHasItsRank) {
  v1::SelectRequest request = Query(3);
  Pin(request, 5, 1);
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 5, 2));
  EXPECT_THAT(response_.propensities(), ElementsAre(1, 0, 0));
  v1::SelectRequest first = Query(2);
  first.mutable_rules()->add_pins()->set_name("one");
  Pin(first, 3, 1);
  ASSERT_THAT(Select(first), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 3));
  // Not on offer: its rank is chosen as without the pin.
  v1::SelectRequest later = Query(2);
  Pin(later, 4, 0);
  ASSERT_THAT(Select(later), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 2));
}

TEST_F(ServedRulesTest, AtMostSoManyOfAGroupOrOfATag) {
  v1::SelectRequest request = Query();
  Limit(request, "genre", 1);
  ASSERT_THAT(Select(request), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 3, 5));
  v1::SelectRequest tagged = Query();
  v1::GroupLimit& limit = *tagged.mutable_rules()->add_at_most();
  limit.set_tag("ad");
  limit.set_count(1);
  ASSERT_THAT(Select(tagged), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 3, 5));
}

TEST_F(ServedRulesTest, SlotsFollowTheRulesAndTheirProductIsTheLists) {
  ModelSpec spec = PlainSpec("mix", 1);
  spec.policy = MakeUniformMix(0.5);
  Fill(registry_.Add(spec));
  v1::SelectRequest request = Query(0, "mix");
  request.set_slots(3);
  Pin(request, 3, 1);
  Limit(request, "genre", 1);
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(Select(request), IsOk());
    ASSERT_EQ(response_.slot_tokens_size(), 3);
    EXPECT_EQ(response_.arm_ids(1), 3);
    EXPECT_EQ(response_.propensities(1), 1);
    // First: arms 1, 2, 5, of which 1 is the best. Last: 5 and, after 5, arms 1 and 2.
    const double share = 0.5 / 3;
    EXPECT_DOUBLE_EQ(response_.propensities(0), response_.arm_ids(0) == 1 ? 0.5 + share : share);
    const double last = response_.arm_ids(0) != 5 ? 1 : response_.arm_ids(2) == 1 ? 0.75 : 0.25;
    EXPECT_DOUBLE_EQ(response_.propensities(2), last);
  }
  request.set_slots(4);
  Limit(request, "genre", 1);
  ExpectRefused(request, Code::kInvalidArgument, "rules.at_most: leaves 3 arms for 4 slots");
}

TEST_F(ServedRulesTest, MistakesNameTheField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](auto change, Code code, const std::string& message) {
    v1::SelectRequest request = Query(2);
    change(request);
    ExpectRefused(request, code, message);
  };
  using Request = v1::SelectRequest;
  refused([](Request& r) { Where(r, "weight").set_min(0); }, Code::kInvalidArgument,
          "rules.where[0].field: no arm of the model's catalogue has a field \"weight\"");
  refused([](Request& r) { Where(r, "available to").set_min(0); }, Code::kInvalidArgument,
          "rules.where[0].field: no arm");
  refused([](Request& r) { Where(r, "price"); }, Code::kInvalidArgument,
          "rules.where[0]: must have min, max, above or below");
  refused([&](Request& r) { Where(r, "price").set_max(nan); }, Code::kInvalidArgument,
          "rules.where[0]: must have no bound that is NaN");
  refused([](Request& r) { Where(r, "price").set_above(1000); }, Code::kNotFound,
          "rules.where: leaves no arm");
  refused(
      [](Request& r) {
        for (int i = 0; i < 17; ++i) Where(r, "price").set_min(0);
      },
      Code::kInvalidArgument, "rules.where: at most 16, got 17");
  refused([](Request& r) { r.mutable_rules()->add_boosts(); }, Code::kInvalidArgument,
          "rules.boosts[0]: must name");
  refused([](Request& r) { r.mutable_rules()->add_boosts()->set_id(9); }, Code::kNotFound,
          "rules.boosts[0].id: the model's catalogue has no arm 9");
  refused(
      [&](Request& r) {
        r.mutable_rules()->add_boosts()->set_tag("ad");
        r.mutable_rules()->mutable_boosts(0)->set_add(nan);
      },
      Code::kInvalidArgument, "rules.boosts[0].add: must be in [-1e+06, 1e+06], got nan");
  refused([](Request& r) { r.mutable_rules()->add_boosts()->mutable_group()->set_name("x"); },
          Code::kInvalidArgument, "rules.boosts[0].group.name: is none of the model's arm_groups");
  refused([](Request& r) { Pin(r, 9, 0); }, Code::kNotFound,
          "rules.pins[0].id: the model's catalogue has no arm 9");
  refused([](Request& r) { r.mutable_rules()->add_pins()->set_name("gone"); }, Code::kNotFound,
          "rules.pins[0].name: the model's catalogue has no arm \"gone\"");
  refused([](Request& r) { r.mutable_rules()->add_pins(); }, Code::kInvalidArgument,
          "rules.pins[0]: must name an id or a name");
  refused([](Request& r) { Pin(r, 1, 2); }, Code::kInvalidArgument,
          "rules.pins[0].rank: must be below the number of ranks, 2, got 2");
  refused(
      [](Request& r) {
        Pin(r, 1, 0);
        Pin(r, 2, 0);
      },
      Code::kInvalidArgument, "rules.pins[1].rank: is there twice");
  refused(
      [](Request& r) {
        Pin(r, 1, 0);
        Pin(r, 1, 1);
      },
      Code::kInvalidArgument, "rules.pins[1]: its arm is there twice");
  refused([](Request& r) { Limit(r, "genre", 0); }, Code::kInvalidArgument,
          "rules.at_most[0].count: must be in [1, 100], got 0");
  refused([](Request& r) { Limit(r, "seller", 1); }, Code::kInvalidArgument,
          "rules.at_most[0].group: is none of the model's arm_groups: \"seller\"");
  refused(
      [](Request& r) {
        r.mutable_arms()->mutable_inline_arms()->add_features(0.5);
        Where(r, "price").set_min(0);
      },
      Code::kInvalidArgument, "rules: are for arms of the catalogue");
  v1::SelectRequest gone = Ids({4});
  ExpectRefused(gone, Code::kNotFound, "none is available now");
}

// Model `seen` keeps that user u was shown arms 1 and 5, and rewarded for arm 2.
class SeenRulesTest : public ServedRulesTest {
 protected:
  static ModelSpec SeenSpec(const std::string& name, Mode mode) {
    ModelSpec spec = PlainSpec(name, 1);
    spec.public_spec.mode = mode;
    spec.effects.emplace().seen =
        SeenBounds{.arms_per_user = 9, .users = 9, .kept = absl::Hours(5)};
    return spec;
  }
  FakeModel& AddSeen(const std::string& name, Mode mode) {
    FakeModel& model = registry_.Add(SeenSpec(name, mode));
    Fill(model);
    auto seen = std::make_shared<SeenArms>(*model.spec().effects->seen);
    const absl::Time now = clock_.Now();
    seen->Add(SeenKind::kShown, UserKey("u"), 5, now - absl::Hours(2));
    seen->Add(SeenKind::kShown, UserKey("v"), 3, now - absl::Minutes(30));
    seen->Add(SeenKind::kShown, UserKey("u"), 1, now - absl::Minutes(30));
    seen->Add(SeenKind::kRewarded, UserKey("u"), 2, now);
    model.SetSeen(seen);
    return model;
  }
  static v1::SelectRequest Excluding(v1::SeenRule::Seen kind, const std::string& model = "seen") {
    v1::SelectRequest request = Query(5, model);
    request.mutable_rules()->mutable_exclude_seen()->set_seen(kind);
    return request;
  }
};

TEST_F(SeenRulesTest, ArmsThatTheUserWasShownOrRewardedForAreNotOnOffer) {
  FakeModel& model = AddSeen("seen", Mode::kNonPrivate);
  ASSERT_THAT(Select(Excluding(v1::SeenRule::SHOWN)), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(2, 3));
  EXPECT_EQ(model.recorded().size(), 1);  // the decision is noted as well
  ASSERT_THAT(Select(Excluding(v1::SeenRule::REWARDED)), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(1, 3, 5));
  v1::SelectRequest hour = Excluding(v1::SeenRule::SHOWN);
  hour.mutable_rules()->mutable_exclude_seen()->mutable_within()->set_seconds(3600);
  ASSERT_THAT(Select(hour), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(2, 3, 5));
  hour.clear_arms();
  for (const std::uint32_t id : {5, 1, 2}) {
    hour.mutable_arms()->mutable_catalogue_arms()->add_ids(id);
  }
  ASSERT_THAT(Select(hour), IsOk());
  EXPECT_THAT(response_.arm_ids(), ElementsAre(2, 5));
  EXPECT_THAT(response_.positions(), ElementsAre(2, 0));
}

// Arms 1 and 2 have had their event; of the others on offer, 3 and 5, each has half of the share.
TEST_F(ServedRulesTest, ColdArmsHaveTheirShareAndSaySo) {
  ModelSpec spec = PlainSpec("cold", 1);
  spec.effects.emplace().cold_events = 1;
  spec.policy = MakeColdShare(MakeUcbRule(), 0.5);
  FakeModel& model = registry_.Add(spec);
  Fill(model);
  auto events = std::make_shared<ArmEventCounts>(1);
  events->Add(1);
  events->Add(2);
  model.SetArmEvents(events);
  std::map<std::uint32_t, double> propensities;
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(Select(Query(1, "cold")), IsOk());
    propensities[response_.arm_ids(0)] = response_.propensities(0);
  }
  EXPECT_THAT(propensities, ElementsAre(Pair(1, 0.5), Pair(3, 0.25), Pair(5, 0.25)));
  events->Add(3);
  events->Add(5);
  ASSERT_THAT(Select(Query(1, "cold")), IsOk());
  EXPECT_EQ(response_.arm_ids(0), 1);
  EXPECT_EQ(response_.propensities(0), 1);
}

TEST_F(SeenRulesTest, ModesRefuseWhatWouldTell) {
  for (const auto& [name, mode] :
       {std::pair{"local", Mode::kLocalReward}, std::pair{"central", Mode::kCentralReward}}) {
    AddSeen(name, mode);
    ASSERT_THAT(Select(Excluding(v1::SeenRule::SHOWN, name)), IsOk());
    EXPECT_THAT(response_.arm_ids(), ElementsAre(2, 3)) << name;
    ExpectRefused(Excluding(v1::SeenRule::REWARDED, name), Code::kInvalidArgument,
                  "rules.exclude_seen: is for mode NON_PRIVATE");
  }
  AddSeen("joint", Mode::kJoint);
  for (const auto kind : {v1::SeenRule::SHOWN, v1::SeenRule::REWARDED}) {
    ExpectRefused(Excluding(kind, "joint"), Code::kInvalidArgument,
                  "rules.exclude_seen: a ranking is itself a secret");
  }
}

TEST_F(SeenRulesTest, MistakesNameTheField) {
  AddSeen("seen", Mode::kNonPrivate);
  ExpectRefused(Excluding(v1::SeenRule::SHOWN, "m"), Code::kFailedPrecondition,
                "rules.exclude_seen: model m keeps no arms that users were shown");
  ExpectRefused(Excluding(v1::SeenRule::SEEN_UNSPECIFIED), Code::kInvalidArgument,
                "rules.exclude_seen.seen: must be SHOWN or REWARDED");
  for (const std::int64_t seconds : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{18001},
                                     std::numeric_limits<std::int64_t>::max()}) {
    v1::SelectRequest request = Excluding(v1::SeenRule::SHOWN);
    request.mutable_rules()->mutable_exclude_seen()->mutable_within()->set_seconds(seconds);
    ExpectRefused(request, Code::kInvalidArgument,
                  "rules.exclude_seen.within: must be in [1s, 5h], which effects.seen.kept says");
  }
  v1::SelectRequest none = Excluding(v1::SeenRule::SHOWN);
  none.mutable_arms()->mutable_catalogue_query()->add_tags_any("ad");
  none.mutable_arms()->mutable_catalogue_query()->add_excluded_ids(2);
  ExpectRefused(none, Code::kNotFound, "rules.exclude_seen: leaves no arm");
}

// The rules are functions of the request and the catalogue, so every mode that ranks arms here has
// them, and its token takes as much room with them as without.
TEST_F(ServedRulesTest, EveryModeThatRanksHereHasThem) {
  const auto spec_of = [](const std::string& name, Mode mode) {
    ModelSpec spec = PlainSpec(name, 1);
    spec.public_spec.mode = mode;
    return spec;
  };
  for (const auto& [name, mode] :
       {std::pair{"local", Mode::kLocalReward}, std::pair{"central", Mode::kCentralReward},
        std::pair{"joint", Mode::kJoint}}) {
    Fill(registry_.Add(spec_of(name, mode)));
    v1::SelectRequest request = Query(3, name);
    ASSERT_THAT(Select(request), IsOk()) << name;
    const std::size_t size = response_.token().size();
    Where(request, "stock").set_above(0);
    Pin(request, 3, 0);
    Limit(request, "genre", 1);
    ASSERT_THAT(Select(request), IsOk()) << name;
    EXPECT_THAT(response_.arm_ids(), ElementsAre(3, 1)) << name;
    if (mode == Mode::kJoint) {
      EXPECT_EQ(response_.token().size(), size);
    }
  }
}

}  // namespace
}  // namespace bandana::server
