// SelectPoint: the answer is checked, and its report is like any other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/src/base/once.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

class ClientPointsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> MustConnect(FakeRecommender& server) {
    server.SetPoint({0.5, -0.25});
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    options.policy = PrivacyPolicy::AcceptAnything();
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    auto client = Client::Connect(options, *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }

  testing::TempDir folder_;
};

TEST_F(ClientPointsTest, AsksWithoutArmsAndReportsTheReward) {
  FakeRecommender server(RawSpec());
  const auto client = MustConnect(server);
  const auto selection = client->SelectPoint("u");
  ASSERT_THAT(selection, IsOk());
  EXPECT_THAT(selection->point, ElementsAre(0.5, -0.25));
  EXPECT_THAT(selection->arms, IsEmpty());
  EXPECT_EQ(selection->posterior_version, 7);
  ASSERT_THAT(server.selects(), SizeIs(1));
  v1::SelectRequest request;
  ASSERT_TRUE(request.ParseFromString(server.selects()[0]));
  EXPECT_FALSE(request.has_arms());
  EXPECT_EQ(request.top_k(), 0u);
  EXPECT_EQ(request.user(), "u");

  EXPECT_THAT(client->Report(*selection, 0.75, 1), StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_THAT(client->Report(*selection, 0.75), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_THAT(server.applied_outcomes(), SizeIs(1));
  EXPECT_EQ(server.applied_outcomes()[0].token(), "token-1");
  EXPECT_EQ(server.applied_outcomes()[0].reward(), 0.75);
  EXPECT_EQ(server.applied_outcomes()[0].shown(), 0u);
}

TEST_F(ClientPointsTest, TheSameWithoutBlocking) {
  FakeRecommender server(RawSpec());
  const auto client = MustConnect(server);
  server.FailSelect({.status = absl::UnavailableError("away"), .pushback_ms = std::nullopt});
  device::Once<absl::StatusOr<Selection>> result;
  client->SelectPointAsync(
      "u", [&result](absl::StatusOr<Selection> selection) { result.Set(std::move(selection)); });
  const auto selection = result.Get();  // the second attempt
  ASSERT_THAT(selection, IsOk());
  EXPECT_THAT(selection->point, SizeIs(2));
}

TEST_F(ClientPointsTest, LocalRewardsAreRandomizedOnTheDevice) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(server);
  for (int i = 0; i < 3; ++i) {
    const auto selection = client->SelectPoint("u");
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, 1.0), IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(server.applied_reports(), SizeIs(3));
  EXPECT_THAT(server.applied_outcomes(), IsEmpty());
  EXPECT_EQ(client->Spent("u")->events, 3u);
}

TEST_F(ClientPointsTest, WindowsReportTheDefault) {
  FakeRecommender server(WindowSpec(absl::Milliseconds(50), 0.5));
  const auto client = MustConnect(server);
  ASSERT_THAT(client->SelectPoint("u"), IsOk());
  ASSERT_TRUE(Eventually([&] { return server.applied_reports().size() == 1; }));
  EXPECT_EQ(client->Stats().reports_defaulted, 1u);
}

TEST_F(ClientPointsTest, AnswersThatAreNoPointAreRefused) {
  FakeRecommender server(RawSpec());
  const auto client = MustConnect(server);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& bad :
       {std::vector<double>{}, std::vector<double>{1}, std::vector<double>{1, 2, 3},
        std::vector<double>{0, std::nan("")}, std::vector<double>{kInf, 0}}) {
    server.SetPoint(bad);
    EXPECT_THAT(client->SelectPoint("u"), StatusIs(absl::StatusCode::kInternal, "not a point"));
  }
  EXPECT_EQ(client->Stats().selections, 0u);
}

TEST_F(ClientPointsTest, UsersAreChecked) {
  FakeRecommender server(RawSpec());
  const auto client = MustConnect(server);
  EXPECT_THAT(client->SelectPoint(""), StatusIs(absl::StatusCode::kInvalidArgument, "user"));
  EXPECT_THAT(client->SelectPoint(std::string(129, 'u')),
              StatusIs(absl::StatusCode::kInvalidArgument, "user"));
  EXPECT_THAT(server.selects(), IsEmpty());
}

TEST_F(ClientPointsTest, ModelsThatCountOnTheDeviceRankArms) {
  FakeRecommender counting(CounterModelSpec());
  EXPECT_THAT(MustConnect(counting)->SelectPoint("u"),
              StatusIs(absl::StatusCode::kInvalidArgument, "not of points"));
  EXPECT_THAT(counting.selects(), IsEmpty());
}

}  // namespace
}  // namespace bandana::testing
