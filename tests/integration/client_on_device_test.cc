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

namespace bandana {
namespace {

using ::bandana::testing::Eventually;
using ::bandana::testing::FakeRecommender;
using ::bandana::testing::Fault;
using ::bandana::testing::IsOk;
using ::bandana::testing::IsOkAndHolds;
using ::bandana::testing::LocalSpec;
using ::bandana::testing::RawSpec;
using ::bandana::testing::StatusIs;
using ::bandana::testing::WindowSpec;
using ::testing::ElementsAre;

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
  std::unique_ptr<Client> MustConnect(FakeRecommender& server) {
    ClientOptions options;
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
}  // namespace bandana
