// Select and GetPosterior of a sparse model: a mean of 400 numbers and no covariance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

#include "common/bandits/sparse/sparse_estimate.h"
#include "server/service/recommender.h"
#include "tests/support/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr int kDimension = 400;

class SparseSelectTest : public ::bandana::testing::ServiceTest {
 protected:
  SparseSelectTest() { SetEstimate({}); }

  static ModelSpec Spec() {
    ModelSpec spec = PlainSpec("m", kDimension);
    spec.public_spec.mode = Mode::kJoint;
    spec.public_spec.feature_l2_max = 1e6;
    spec.sparse.emplace();
    spec.config.mutable_sparse();
    return spec;
  }
  void SetEstimate(const SparseEstimate& estimate) {
    NodePosterior node{.mean = std::vector<double>(kDimension)};
    for (const SparseEntry& entry : estimate) node.mean[entry.coordinate] = entry.value;
    model_.SetPosterior(std::make_shared<const PosteriorSnapshot>(kDimension, node, 1));
  }
  absl::Status Select(const std::vector<double>& features, int top_k = 0) {
    v1::SelectRequest request;
    request.set_model("m");
    request.set_user("u");
    request.set_top_k(static_cast<std::uint32_t>(top_k));
    request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(features.begin(),
                                                                           features.end());
    response_.Clear();
    return recommender_->Select(request, response_);
  }

  FakeModel& model_ = registry_.Add(Spec());
  std::unique_ptr<Handlers> recommender_ = MakeRecommender({}, registry_, tokens_, clock_);
  v1::SelectResponse response_;
};

TEST_F(SparseSelectTest, RanksByMeansAlone) {
  SetEstimate({{3, 2.0}});
  std::vector<double> features(3 * kDimension);
  features[kDimension + 3] = 1;       // of the second arm
  features[2 * kDimension + 3] = -1;  // of the third
  ASSERT_THAT(Select(features, 3), IsOk());
  EXPECT_THAT(response_.positions(), ElementsAre(1, 0, 2));
  EXPECT_THAT(response_.means(), ElementsAre(2, 0, -2));
  EXPECT_THAT(response_.scores(), ElementsAre(2, 0, -2));
  EXPECT_THAT(response_.widths(), ElementsAre(0, 0, 0));
}

// Nothing is known at first, and equal arms, one of zeros among them, are equal: each is shown
// about as often. 600 draws of three: a count below 140 has a chance of 2e-7.
TEST_F(SparseSelectTest, ShowsEqualArmsEquallyOften) {
  std::vector<double> features(3 * kDimension);
  features[0] = features[kDimension] = 1;  // the same arm twice
  std::vector<int> shown(3);
  for (int i = 0; i < 600; ++i) {
    ASSERT_THAT(Select(features), IsOk());
    ++shown[response_.positions(0)];
  }
  for (const int count : shown) EXPECT_GE(count, 140);
}

TEST_F(SparseSelectTest, RanksAsManyArmsAsATokenCarries) {
  const std::vector<double> features(20 * kDimension);
  ASSERT_THAT(Select(features, 10), IsOk());
  EXPECT_EQ(response_.positions_size(), 10);
  EXPECT_LE(response_.token().size(), kTokenBytesMax);
  EXPECT_THAT(Select(features, 11),
              StatusIs(Code::kInvalidArgument, "top_k: must be in [0, 10], got 11"));
}

TEST_F(SparseSelectTest, NoFeatureDecidesWhetherThereIsADecision) {
  std::vector<double> features(kDimension);
  features[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Select(features), IsOk());
}

TEST_F(SparseSelectTest, RefusesShapesThatDoNotFit) {
  EXPECT_THAT(Select(std::vector<double>(kDimension - 1)),
              StatusIs(Code::kInvalidArgument, "a multiple of the model's dimension 400"));
  EXPECT_THAT(Select({}), StatusIs(Code::kInvalidArgument, "at least one arm"));
}

TEST_F(SparseSelectTest, ThereIsNoPosteriorToFetch) {
  v1::GetPosteriorRequest request;
  request.set_model("m");
  v1::GetPosteriorResponse response;
  EXPECT_THAT(recommender_->GetPosterior(request, response),
              StatusIs(Code::kFailedPrecondition, "model is sparse"));
}

}  // namespace
}  // namespace bandana::server
