// Selection on the device: the server sees the chosen arm, at report time, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

// Mean (1, 0), covariance I, alpha 0: the arm with the largest first entry wins.
v1::GetPosteriorResponse Posterior(std::uint64_t version, double first, double second) {
  v1::GetPosteriorResponse response;
  response.set_version(version);
  for (const double mean : {first, second}) response.add_means(mean);
  for (const double entry : {1.0, 0.0, 1.0}) response.add_covariances(entry);
  response.add_alphas(0);
  return response;
}

const std::vector<double> kArms = {0.25, 0.125, 0.75, 0.0625, 0.5, 0.375};

class ClientOnDeviceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> MustConnect(FakeRecommender& server, const std::string& tag = "",
                                      absl::Duration interval = absl::Hours(1)) {
    ClientOptions options;
    options.arm_effects_tag = tag;
    options.posterior_interval = interval;
    options.target = server.target();
    options.model = "fake";
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    options.policy.require_local = false;
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    auto client = Client::Connect(options, *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  static std::vector<double> FeaturesOf(const std::string& select) {
    v1::SelectRequest request;
    EXPECT_TRUE(request.ParseFromString(select));
    EXPECT_EQ(request.top_k(), 1);
    EXPECT_EQ(request.user(), "u");
    const auto& features = request.arms().inline_arms().features();
    return {features.begin(), features.end()};
  }

  testing::TempDir folder_;
};

TEST_F(ClientOnDeviceTest, OnlyTheShownArmLeaves) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(3, 1, 0));
  const auto client = MustConnect(server);
  ASSERT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  const auto selection = client->SelectOnDevice("u", Arms::Inline(kArms), 2);
  ASSERT_THAT(selection, IsOk());
  ASSERT_EQ(selection->arms.size(), 2);
  EXPECT_EQ(selection->arms[0].position, 1);
  EXPECT_EQ(selection->arms[0].score, 0.75);
  EXPECT_EQ(selection->arms[1].position, 2);
  EXPECT_EQ(selection->posterior_version, 3);
  EXPECT_TRUE(server.selects().empty());

  ASSERT_THAT(client->Report(*selection, 1.0, 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_EQ(server.selects().size(), 1);
  EXPECT_THAT(FeaturesOf(server.selects()[0]), ElementsAre(0.5, 0.375));
  ASSERT_EQ(server.applied_reports().size(), 1);
  EXPECT_EQ(server.applied_reports()[0].shown(), 0);
  EXPECT_EQ(server.applied_reports()[0].token(), "token-1");
}

TEST_F(ClientOnDeviceTest, RefreshAsksForNewerOnly) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(3, 1, 0));
  const auto client = MustConnect(server);
  EXPECT_THAT(client->SelectOnDevice("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "RefreshPosterior"));
  EXPECT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  EXPECT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(false));
  server.SetPosterior(Posterior(4, 0, 1));
  EXPECT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  EXPECT_EQ(client->SelectOnDevice("u", Arms::Inline(kArms))->arms[0].position, 2);
  auto broken = Posterior(5, 0, 1);
  broken.set_means(0, std::nan(""));
  server.SetPosterior(broken);
  EXPECT_THAT(client->RefreshPosterior("u"), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(client->SelectOnDevice("u", Arms::Inline(kArms))->posterior_version, 4);
}

TEST_F(ClientOnDeviceTest, ClipsAsTheServerWould) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
  const std::vector<double> long_arm = {3, 4};
  const auto selection = client->SelectOnDevice("u", Arms::Inline(long_arm));
  ASSERT_THAT(selection, IsOk());
  EXPECT_NEAR(selection->arms[0].score, 0.6, 1e-12);
  const std::vector<std::uint32_t> ids = {1};
  EXPECT_THAT(client->SelectOnDevice("u", Arms::Catalogue(ids)),
              StatusIs(absl::StatusCode::kInvalidArgument, "inline"));
}

TEST_F(ClientOnDeviceTest, LostTokensAreFetchedAgainAndOneReportIsSent) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
  server.FailSelect({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
  server.FailDelivery({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
  ASSERT_THAT(client->Report(*client->SelectOnDevice("u", Arms::Inline(kArms)), 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.selects().size(), 2);
  ASSERT_EQ(server.deliveries().size(), 2);
  EXPECT_EQ(server.deliveries()[0].bytes, server.deliveries()[1].bytes);
  EXPECT_EQ(server.applied_reports().size(), 1);
}

TEST_F(ClientOnDeviceTest, TokenOutlivesARestart) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  {
    const auto client = MustConnect(server);
    ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
    server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
    ASSERT_THAT(client->Report(*client->SelectOnDevice("u", Arms::Inline(kArms)), 1.0), IsOk());
    ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  }
  server.ReleaseHung();
  const auto client = MustConnect(server);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.selects().size(), 1);
  ASSERT_EQ(server.deliveries().size(), 2);
  EXPECT_EQ(server.deliveries()[0].bytes, server.deliveries()[1].bytes);
  EXPECT_EQ(client->Stats().reports_duplicate, 1);
}

TEST_F(ClientOnDeviceTest, RefusedArmIsRejectedAndCounted) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
  server.FailSelect({Fault::Kind::kRefuse, absl::NotFoundError("user")});
  ASSERT_THAT(client->Report(*client->SelectOnDevice("u", Arms::Inline(kArms)), 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_rejected, 1);
  EXPECT_TRUE(server.deliveries().empty());
}

TEST_F(ClientOnDeviceTest, WithAWindowTheTokenIsFetchedAtItsCloseForTheArmShown) {
  FakeRecommender server(WindowSpec(absl::Milliseconds(200), 0));
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
  const auto shown = client->SelectOnDevice("u", Arms::Inline(kArms), {2, 1});
  ASSERT_THAT(shown, IsOk());
  ASSERT_THAT(client->SelectOnDevice("u", Arms::Inline(kArms), 2), IsOk());
  ASSERT_THAT(client->Report(*shown, 1.0), IsOk());
  EXPECT_TRUE(server.selects().empty());
  ASSERT_TRUE(Eventually([&] { return server.applied_reports().size() == 2; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  std::vector<std::vector<double>> arms;
  for (const auto& select : server.selects()) arms.push_back(FeaturesOf(select));
  EXPECT_THAT(arms,
              ::testing::UnorderedElementsAre(ElementsAre(0.5, 0.375), ElementsAre(0.75, 0.0625)));
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
}

v1::GetArmEffectsResponse ArmsPage(std::uint64_t version, const std::vector<std::uint32_t>& ids,
                                   float mean, std::uint64_t next_arm = 0) {
  v1::GetArmEffectsResponse page;
  page.set_version(version);
  for (const std::uint32_t id : ids) {
    page.add_ids(id);
    page.add_means(mean);
    page.add_variances(0);
  }
  page.set_next_arm(next_arm);
  return page;
}

TEST_F(ClientOnDeviceTest, ArmsHaveTheEffectsOfAFixedBlock) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(3, 1, 0));
  server.SetArmEffects({ArmsPage(3, {5, 6}, -1, 9), ArmsPage(4, {9}, 2)});
  const auto client = MustConnect(server, "news");
  ASSERT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  ASSERT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(false));
  // The second arm would win without; an arm without id has no effect.
  const std::vector<std::uint32_t> ids = {9, 5, Arms::kNoId};
  const auto selection = client->SelectOnDevice("u", Arms::Inline(kArms, ids), 3);
  ASSERT_THAT(selection, IsOk());
  ASSERT_EQ(selection->arms.size(), 3);
  EXPECT_EQ(selection->arms[0].position, 0);
  EXPECT_EQ(selection->arms[0].mean, 2.25);
  EXPECT_EQ(selection->arms[1].position, 2);
  EXPECT_EQ(selection->arms[1].mean, 0.5);
  EXPECT_EQ(selection->arms[2].mean, -0.25);
  // Both pages, once: the tag, and nothing of the decision.
  const auto asked = server.arm_effects_requests();
  ASSERT_EQ(asked.size(), 2);
  for (const auto& request : asked) EXPECT_EQ(request.tag(), "news");
  EXPECT_EQ(asked[1].first_arm(), 9);

  // The arm that was shown goes with its id.
  ASSERT_THAT(client->Report(*selection, 1.0, 1), IsOk());
  ASSERT_THAT(client->Report(*client->SelectOnDevice("u", Arms::Inline(kArms, ids)), 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  std::vector<std::vector<std::uint32_t>> sent;
  for (const std::string& select : server.selects()) {
    v1::SelectRequest request;
    ASSERT_TRUE(request.ParseFromString(select));
    EXPECT_EQ(request.arms().inline_arms().features_size(), 2);
    const auto& own = request.arms().inline_arms().ids();
    sent.emplace_back(own.begin(), own.end());
  }
  EXPECT_THAT(sent, ::testing::UnorderedElementsAre(ElementsAre(Arms::kNoId), ElementsAre(9)));
}

TEST_F(ClientOnDeviceTest, TheBlockIsFetchedByTheClock) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(3, 1, 0));
  server.SetArmEffects({ArmsPage(3, {5}, -1)});
  const auto client = MustConnect(server, "", absl::Milliseconds(20));
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_TRUE(server.arm_effects_requests().empty());  // nobody chooses on the device yet
  ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
  ASSERT_TRUE(Eventually([&] { return server.arm_effects_requests().size() >= 3; }));
  EXPECT_EQ(server.arm_effects_requests()[0].if_newer_than(), 0);
  EXPECT_EQ(server.arm_effects_requests()[2].if_newer_than(), 3);
  const std::vector<std::uint32_t> ids = {5};
  const auto mean = [&] {
    const auto selection =
        client->SelectOnDevice("u", Arms::Inline(std::span(kArms).first(2), ids));
    return selection.ok() ? selection->arms[0].mean : -100;
  };
  EXPECT_EQ(mean(), -0.75);
  server.SetArmEffects({ArmsPage(4, {5}, 1)});
  EXPECT_TRUE(Eventually([&] { return mean() == 1.25; }));
  // While the server is away the last one stays.
  server.FailArmEffects(absl::UnavailableError("away"));
  const std::size_t asked = server.arm_effects_requests().size();
  ASSERT_TRUE(Eventually([&] { return server.arm_effects_requests().size() >= asked + 2; }));
  EXPECT_EQ(mean(), 1.25);
  // So it does where a fetch makes no sense.
  server.SetArmEffects({ArmsPage(5, {7, 5}, 0)});
  const std::size_t before = server.arm_effects_requests().size();
  ASSERT_TRUE(Eventually([&] { return server.arm_effects_requests().size() >= before + 2; }));
  EXPECT_EQ(mean(), 1.25);
}

TEST_F(ClientOnDeviceTest, AModelWithoutEffectsOfArmsIsAskedOnce) {
  for (const absl::Status& none : {absl::FailedPreconditionError("not of effects"),
                                   absl::UnimplementedError("an older server")}) {
    FakeRecommender server(LocalSpec());
    server.SetPosterior(Posterior(3, 1, 0));
    server.FailArmEffects(none);
    const auto client = MustConnect(server, "", absl::Milliseconds(5));
    ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
    ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
    absl::SleepFor(absl::Milliseconds(50));
    EXPECT_EQ(server.arm_effects_requests().size(), 1);
    const std::vector<std::uint32_t> ids = {1, 2, 3};
    const auto selection = client->SelectOnDevice("u", Arms::Inline(kArms, ids));
    ASSERT_THAT(selection, IsOk());
    EXPECT_EQ(selection->arms[0].mean, 0.75);
    // Such a model does not learn of the id either.
    ASSERT_THAT(client->Report(*selection, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    v1::SelectRequest request;
    ASSERT_TRUE(request.ParseFromString(server.selects().at(0)));
    EXPECT_EQ(request.arms().inline_arms().ids_size(), 0);
  }
}

// An error that lasts is not taken for a model without effects.
TEST_F(ClientOnDeviceTest, WithoutTheEffectsOfArmsNothingIsRanked) {
  FakeRecommender server(LocalSpec());
  server.SetPosterior(Posterior(3, 1, 0));
  server.FailArmEffects(absl::PermissionDeniedError("no"));
  const auto client = MustConnect(server);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(client->RefreshPosterior("u"), StatusIs(absl::StatusCode::kPermissionDenied));
    EXPECT_THAT(client->SelectOnDevice("u", Arms::Inline(kArms)),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  server.SetArmEffects({ArmsPage(3, {1}, 0)});
  EXPECT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  EXPECT_THAT(client->SelectOnDevice("u", Arms::Inline(kArms)), IsOk());
}

TEST_F(ClientOnDeviceTest, WorksForModelsWithoutPrivacy) {
  FakeRecommender server(RawSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  ClientOptions options;
  options.target = server.target();
  options.model = "fake";
  options.policy = PrivacyPolicy::AcceptAnything();
  const auto client = *Client::Connect(options, DeviceStore::InMemory());
  ASSERT_THAT(client->RefreshPosterior("u"), IsOk());
  ASSERT_THAT(client->Report(*client->SelectOnDevice("u", Arms::Inline(kArms)), 0.5), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_EQ(server.applied_outcomes().size(), 1);
  EXPECT_EQ(server.applied_outcomes()[0].reward(), 0.5);
  EXPECT_EQ(server.applied_outcomes()[0].token(), "token-1");
}

}  // namespace
}  // namespace bandana::testing
