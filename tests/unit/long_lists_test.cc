// Decisions of more ranks than a token carries: their token has the arm that is shown, and its size
// says nothing of what was on offer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/ranking/policies/selection_rules.h"
#include "server/models/admission/reported_event.h"
#include "server/service/recommender.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr int kOffered = 300;

class LongListsTest : public ::bandana::testing::ServiceTest {
 protected:
  LongListsTest() { Fill(model_); }

  // Arm i has mean -i / kOffered: they are ranked in the order of their ids.
  static void Fill(FakeModel& model) {
    NodePosterior node{.mean = {1, 0}, .covariance = {0, 0, 0, 0}, .alpha = 0};
    model.SetPosterior(std::make_shared<const PosteriorSnapshot>(2, node, 1));
    std::vector<CatalogueArm> arms;
    for (std::uint32_t id = 0; id < kOffered; ++id) {
      arms.push_back({.id = id, .features = {-double(id) / kOffered, 0}, .tags = {}});
      if (id < 5) arms.back().tags.push_back("few");
    }
    model.SetArms(arms);
  }
  static v1::SelectRequest Query(int top_k, int shown, const std::string& model = "m") {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    request.set_top_k(static_cast<std::uint32_t>(top_k));
    request.set_shown(static_cast<std::uint32_t>(shown));
    request.mutable_arms()->mutable_catalogue_query();
    return request;
  }
  absl::Status Select(const v1::SelectRequest& request) {
    response_.Clear();
    return recommender_->Select(request, response_);
  }
  std::size_t TokenBytes(const v1::SelectRequest& request) {
    EXPECT_THAT(Select(request), IsOk());
    return response_.token().size();
  }

  FakeModel& model_ = registry_.Add(PlainSpec("m", 2));
  std::unique_ptr<Handlers> recommender_ = MakeRecommender(
      {.arms_per_request_max = 1000, .batch_decisions_max = 4}, registry_, tokens_, clock_);
  v1::SelectResponse response_;
};

TEST_F(LongListsTest, AHundredRanksAreAnswered) {
  ASSERT_THAT(Select(Query(100, 57)), IsOk());
  std::vector<std::uint32_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_THAT(response_.arm_ids(), ::testing::ElementsAreArray(ids));
  EXPECT_EQ(response_.propensities_size(), 100);
  EXPECT_EQ(response_.means_size(), 100);
  EXPECT_THAT(Select(Query(101, 0)),
              StatusIs(Code::kInvalidArgument, "top_k: must be in [0, 100], got 101"));
  EXPECT_THAT(Select(Query(100, 100)), StatusIs(Code::kInvalidArgument, "shown: "));
}

TEST_F(LongListsTest, TheTokenCarriesTheArmThatIsShown) {
  ASSERT_THAT(Select(Query(100, 57)), IsOk());
  const auto decision = tokens_.Open(response_.token());
  ASSERT_THAT(decision, IsOk());
  ASSERT_EQ(decision->arms.size(), 1);
  EXPECT_TRUE(decision->shown_alone);
  EXPECT_EQ(decision->shown, 57);
  EXPECT_THAT(decision->arms[0].features, ElementsAre(-57.0 / kOffered, 0));
  const ModelSpec& spec = model_.spec();
  EXPECT_TRUE(MayShow(spec, *decision, 57));
  EXPECT_FALSE(MayShow(spec, *decision, 0));
  EXPECT_FALSE(MayShow(spec, *decision, 56));
  EXPECT_EQ(EventOf(*decision, 57).features.Values()[0], -57.0 / kOffered);
}

TEST_F(LongListsTest, SixteenRanksAreAllInTheToken) {
  ASSERT_THAT(Select(Query(16, 3)), IsOk());
  const auto decision = tokens_.Open(response_.token());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->arms.size(), 16);
  EXPECT_FALSE(decision->shown_alone);
  EXPECT_TRUE(MayShow(model_.spec(), *decision, 15));
}

TEST_F(LongListsTest, ATokenOfALongListIsShorterThanOneOfSixteenRanks) {
  EXPECT_LT(TokenBytes(Query(100, 0)), TokenBytes(Query(16, 0)));
  EXPECT_LE(TokenBytes(Query(100, 99)), TokenBytes(Query(1, 0)) + 2);
}

TEST_F(LongListsTest, WhereContextsArePrivateTheSizeDependsOnTheRequestAlone) {
  ModelSpec spec = PlainSpec("joint", 2);
  spec.public_spec.mode = Mode::kJoint;
  Fill(registry_.Add(spec));
  const std::size_t size = TokenBytes(Query(100, 0, "joint"));
  EXPECT_EQ(TokenBytes(Query(100, 57, "joint")), size);
  EXPECT_EQ(TokenBytes(Query(17, 4, "joint")), size);
  v1::SelectRequest few = Query(100, 4, "joint");
  few.mutable_arms()->mutable_catalogue_query()->add_tags_any("few");
  EXPECT_EQ(TokenBytes(few), size);
  EXPECT_EQ(response_.arm_ids_size(), 5);
  EXPECT_EQ(tokens_.Open(response_.token())->arms.size(), 1);
}

TEST_F(LongListsTest, PoliciesDrawLongLists) {
  ModelSpec spec = PlainSpec("mix", 2);
  spec.policy = MakeUniformMix(0.5);
  Fill(registry_.Add(spec));
  ASSERT_THAT(Select(Query(100, 99, "mix")), IsOk());
  std::vector<std::uint32_t> ids(response_.arm_ids().begin(), response_.arm_ids().end());
  ASSERT_EQ(ids.size(), 100);
  std::ranges::sort(ids);
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST_F(LongListsTest, SlotsStayAtSixteen) {
  v1::SelectRequest request = Query(0, 0);
  request.set_slots(17);
  EXPECT_THAT(Select(request),
              StatusIs(Code::kInvalidArgument, "slots: must be in [0, 16], got 17"));
}

}  // namespace
}  // namespace bandana::server
