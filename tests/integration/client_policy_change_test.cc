// A model that becomes another one under its name while a client runs: the client's requests name
// the policy that it agreed to, and nothing raw leaves under another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/src/seams.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};
constexpr absl::Duration kWindow = absl::Seconds(80);
constexpr absl::Duration kLeft = absl::Seconds(80 + 10 + 1);

PublicSpec CentralSpec() {
  PublicSpec spec = WindowSpec(kWindow, 0.25);
  spec.mode = Mode::kCentralReward;
  spec.reward_window->grace = absl::Seconds(20);
  return spec;
}

class ClientPolicyChangeTest : public ::testing::Test {
 protected:
  explicit ClientPolicyChangeTest(const PublicSpec& spec = CentralSpec()) : server_(spec) {}

  std::unique_ptr<Client> MustConnect() {
    ClientOptions options;
    options.target = server_.target();
    options.model = "fake";
    options.policy = {.require_local = false, .epsilon_max = 1};
    options.backoff_min = options.backoff_max = absl::Milliseconds(1);
    Seams seams;
    seams.clock = &clock_;
    seams.recheck = absl::Milliseconds(2);
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    auto client = Connect(options, *store, seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  std::string AgreedHash() const {
    const Sha256Digest hash = CentralSpec().PolicyHash();
    return std::string(AsChars(hash));
  }
  // Two decisions with reactions; then the operator puts `other` in the model's place.
  void ReactThenChangeTo(Client& client, const PublicSpec& other) {
    for (int i = 0; i < 2; ++i) {
      const auto selection = client.Select("u", Arms::Inline(kArms));
      ASSERT_THAT(selection, IsOk());
      ASSERT_THAT(client.Report(*selection, 0.875), IsOk());
    }
    server_.SetSpec(other);
  }

  testing::TempDir folder_;
  FakeRecommender server_;
  FakeClock clock_;
};

PublicSpec Weaker() {
  PublicSpec spec = CentralSpec();
  spec.epsilon = {20.0};
  return spec;
}

TEST_F(ClientPolicyChangeTest, RequestsNameThePolicyThatWasAgreedOn) {
  const auto client = MustConnect();
  ASSERT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return server_.applied_outcomes().size() == 1; }));
  v1::SelectRequest select;
  ASSERT_TRUE(select.ParseFromString(server_.selects().at(0)));
  EXPECT_EQ(select.policy_hash(), AgreedHash());
  v1::ReportRequest report;
  ASSERT_TRUE(report.ParseFromString(server_.deliveries().at(0).bytes));
  EXPECT_EQ(report.policy_hash(), AgreedHash());
}

TEST_F(ClientPolicyChangeTest, ARefusedSelectStopsTheClientBeforeAnythingRawLeaves) {
  for (const PublicSpec& other : {RawSpec(), Weaker()}) {
    server_.SetSpec(CentralSpec());
    const auto client = MustConnect();
    ReactThenChangeTo(*client, other);
    EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
                StatusIs(absl::StatusCode::kFailedPrecondition, "policy_hash"));
    ASSERT_TRUE(Eventually([&] {
      return client->Select("u", Arms::Inline(kArms))
                 .status()
                 .message()
                 .find("changed its configuration") != std::string::npos;
    }));
    clock_.Advance(kLeft);
    ASSERT_TRUE(Eventually([&] { return client->Stats().reports_rejected == 2; }));
    EXPECT_TRUE(server_.deliveries().empty());
    EXPECT_TRUE(server_.applied_outcomes().empty());
  }
}

// Without a Select between, the first report meets the change. It is refused unread, and neither it
// nor another is sent again.
TEST_F(ClientPolicyChangeTest, ARefusedReportIsNotSentAgain) {
  const auto client = MustConnect();
  ReactThenChangeTo(*client, RawSpec());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_rejected == 2; }));
  EXPECT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_LE(server_.deliveries().size(), 2);
  EXPECT_EQ(client->Stats().delivery_attempts, server_.deliveries().size());
  EXPECT_TRUE(server_.applied_outcomes().empty());
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

// A false refusal costs nothing: the model is the one that was agreed on.
TEST_F(ClientPolicyChangeTest, UnderTheSameModelARefusedReportGoesOnAlone) {
  const auto client = MustConnect();
  ReactThenChangeTo(*client, CentralSpec());
  server_.FailDelivery({.status = absl::FailedPreconditionError("no")});
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] {
    const ClientStats stats = client->Stats();
    return stats.reports_applied + stats.reports_rejected == 2;
  }));
  EXPECT_GE(client->Stats().reports_applied, 1);
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
}

// The device keeps the bound where the server sees rewards as well.
TEST_F(ClientPolicyChangeTest, EventsOfAUserAreCountedInCentralModels) {
  PublicSpec spec = CentralSpec();
  spec.events_per_user_max = 2;
  server_.SetSpec(spec);
  for (int i = 0; i < 2; ++i) {
    const auto client = MustConnect();  // also after a restart
    EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
    EXPECT_EQ(client->Spent("u")->events, i + 1);
  }
  const auto client = MustConnect();
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kResourceExhausted, "the user has no events left"));
  EXPECT_THAT(client->Select("v", Arms::Inline(kArms)), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return server_.applied_outcomes().size() == 3; }));
}

}  // namespace
}  // namespace bandana::device
