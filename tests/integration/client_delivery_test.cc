// The SDK against a server that loses answers, refuses and goes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bandana/client.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

const std::vector<double> kArms = {1, 0, 0, 1};

ClientOptions OptionsFor(const FakeRecommender& server) {
  ClientOptions options;
  options.target = server.target();
  options.model = "fake";
  options.backoff_min = absl::Milliseconds(1);
  options.backoff_max = absl::Milliseconds(20);
  return options;
}

std::unique_ptr<Client> MustConnect(const ClientOptions& options,
                                    std::shared_ptr<DeviceStore> store) {
  auto client = Client::Connect(options, std::move(store));
  EXPECT_THAT(client, IsOk());
  return client.ok() ? *std::move(client) : nullptr;
}

class ClientDeliveryTest : public ::testing::Test {
 protected:
  std::shared_ptr<DeviceStore> OpenStore() {
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }
  Selection SelectOne(Client& client, const std::string& user = "u") {
    auto selection = client.Select(user, Arms::Inline(kArms));
    EXPECT_THAT(selection, IsOk());
    return selection.value_or(Selection());
  }

  testing::TempDir folder_;
};

TEST_F(ClientDeliveryTest, ReportsOfALocalModelAreAppliedOnce) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  std::atomic<int> applied{0};
  for (int i = 0; i < 20; ++i) {
    const Selection selection = SelectOne(*client);
    ASSERT_THAT(
        client->Report(selection, 1.0, 0, [&](Delivery d) { applied += d == Delivery::kApplied; }),
        IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 20);
  EXPECT_EQ(applied, 20);
  const ClientStats stats = client->Stats();
  EXPECT_EQ(stats.selections, 20);
  EXPECT_EQ(stats.reports_queued, 20);
  EXPECT_EQ(stats.reports_applied, 20);
  EXPECT_EQ(stats.reports_pending, 0);
}

TEST_F(ClientDeliveryTest, RetrySendsTheSameBytes) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  server.FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("draining")});
  server.FailDelivery({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
  server.FailDelivery({Fault::Kind::kRefuse, absl::DeadlineExceededError("slow")});
  server.FailDelivery({Fault::Kind::kRefuse, absl::ResourceExhaustedError("busy"), 5});
  server.FailDelivery({Fault::Kind::kRefuse, absl::InternalError("proxy")});
  Delivery delivery = Delivery::kApplied;
  ASSERT_THAT(client->Report(SelectOne(*client), 0.3, 0, [&](Delivery d) { delivery = d; }),
              IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto deliveries = server.deliveries();
  ASSERT_EQ(deliveries.size(), 6);
  for (const auto& each : deliveries) EXPECT_EQ(each.bytes, deliveries[0].bytes);
  EXPECT_EQ(server.applied_reports().size(), 1);
  EXPECT_EQ(delivery, Delivery::kDuplicate);  // applied by the attempt whose answer was lost
  EXPECT_EQ(client->Stats().reports_duplicate, 1);
  EXPECT_EQ(client->Stats().delivery_attempts, 6);
}

TEST_F(ClientDeliveryTest, SecondReportOfADecisionIsIgnored) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  const Selection selection = SelectOne(*client);
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());
  Delivery second = Delivery::kApplied;
  ASSERT_THAT(client->Report(selection, 0.0, 0, [&](Delivery d) { second = d; }), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(second, Delivery::kDuplicate);
  EXPECT_EQ(server.deliveries().size(), 1);
  EXPECT_EQ(client->Spent("u")->events, 1);
}

TEST_F(ClientDeliveryTest, ConcurrentReportsOfOneDecisionDrawOnce) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  for (int round = 0; round < 10; ++round) {
    const Selection selection = SelectOne(*client);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { EXPECT_THAT(client->Report(selection, 0.5), IsOk()); });
    }
    for (auto& thread : threads) thread.join();
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 10);
  EXPECT_EQ(client->Stats().reports_queued, 10);
  EXPECT_EQ(client->Spent("u")->events, 10);
}

TEST_F(ClientDeliveryTest, UndeliveredReportsLeaveWithTheNextClientUnchanged) {
  auto server = std::make_unique<FakeRecommender>(LocalSpec());
  const int port = server->port();
  const ClientOptions options = OptionsFor(*server);
  std::vector<std::string> before;
  {
    const auto client = MustConnect(options, OpenStore());
    for (int i = 0; i < 5; ++i) {
      server->FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("draining")});
    }
    ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
    ASSERT_TRUE(Eventually([&] { return server->deliveries().size() >= 1; }));
    before = server->deliveries()[0].reports;
    server.reset();  // gone, for good as far as this client knows
    EXPECT_FALSE(client->Flush(absl::Milliseconds(50)));
    EXPECT_EQ(client->Stats().reports_pending, 1);
  }
  server = std::make_unique<FakeRecommender>(LocalSpec(), port);
  const auto client = MustConnect(options, OpenStore());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_EQ(server->deliveries().size(), 1);
  EXPECT_EQ(server->deliveries()[0].reports, before);
  EXPECT_EQ(client->Stats().reports_applied, 1);
}

TEST_F(ClientDeliveryTest, DecisionReportedBeforeARestartIsNotDrawnAgain) {
  FakeRecommender server(LocalSpec());
  Selection selection;
  {
    const auto client = MustConnect(OptionsFor(server), OpenStore());
    selection = SelectOne(*client);
    ASSERT_THAT(client->Report(selection, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  EXPECT_THAT(client->Report(selection, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.deliveries().size(), 1);
}

TEST_F(ClientDeliveryTest, DecisionOfAnEarlierRunCanStillBeReported) {
  FakeRecommender server(LocalSpec());
  Selection selection;
  {
    const auto client = MustConnect(OptionsFor(server), OpenStore());
    selection = SelectOne(*client);
  }
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  EXPECT_THAT(client->Report(selection, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 1);
}

TEST_F(ClientDeliveryTest, RewardsOfANonPrivateModelArriveAsGiven) {
  FakeRecommender server(RawSpec());
  ClientOptions options = OptionsFor(server);
  options.policy = PrivacyPolicy::AcceptAnything();
  const auto client = MustConnect(options, DeviceStore::InMemory());
  const Selection two = *client->Select("u", Arms::Inline(kArms), 2);
  ASSERT_THAT(client->Report(two, 0.625, 1), IsOk());
  ASSERT_THAT(client->Report(SelectOne(*client), std::nullopt), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  auto outcomes = server.applied_outcomes();
  ASSERT_EQ(outcomes.size(), 2);
  if (!outcomes[0].has_reward()) std::swap(outcomes[0], outcomes[1]);
  EXPECT_EQ(outcomes[0].reward(), 0.625);
  EXPECT_EQ(outcomes[0].shown(), 1);
  EXPECT_FALSE(outcomes[1].has_reward());
}

TEST_F(ClientDeliveryTest, QueueFullDropsAndCounts) {
  FakeRecommender server(LocalSpec());
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ClientOptions options = OptionsFor(server);
  options.queue_reports_max = 1;
  options.when_full = ClientOptions::WhenFull::kDrop;
  const auto client = MustConnect(options, OpenStore());
  const Selection first = SelectOne(*client);
  const Selection second = SelectOne(*client);
  ASSERT_THAT(client->Report(first, 1.0), IsOk());
  Delivery dropped = Delivery::kApplied;
  EXPECT_THAT(client->Report(second, 1.0, 0, [&](Delivery d) { dropped = d; }),
              StatusIs(absl::StatusCode::kResourceExhausted, "queue is full"));
  EXPECT_EQ(dropped, Delivery::kDropped);
  EXPECT_EQ(client->Stats().reports_dropped, 1);
  EXPECT_EQ(client->Spent("u")->events, 1);  // nothing was drawn for the dropped one
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  server.ReleaseHung();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 1);
}

TEST_F(ClientDeliveryTest, QueueFullBlocksUntilAReportIsAnswered) {
  FakeRecommender server(LocalSpec());
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ClientOptions options = OptionsFor(server);
  options.queue_reports_max = 1;
  const auto client = MustConnect(options, OpenStore());
  const Selection first = SelectOne(*client);
  const Selection second = SelectOne(*client);
  ASSERT_THAT(client->Report(first, 1.0), IsOk());
  std::atomic<bool> returned{false};
  std::thread blocked([&] {
    EXPECT_THAT(client->Report(second, 1.0), IsOk());
    returned = true;
  });
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  EXPECT_FALSE(returned);
  server.ReleaseHung();
  blocked.join();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 2);
  EXPECT_EQ(client->Stats().reports_dropped, 0);
}

TEST_F(ClientDeliveryTest, WhoWaitsForAPlaceIsAnsweredWhenTheClientCloses) {
  FakeRecommender server(LocalSpec());
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ClientOptions options = OptionsFor(server);
  options.queue_reports_max = 1;
  auto client = MustConnect(options, OpenStore());
  const Selection first = SelectOne(*client);
  const Selection second = SelectOne(*client);
  ASSERT_THAT(client->Report(first, 1.0), IsOk());
  absl::Status waiting = absl::UnknownError("not called");
  client->ReportAsync(
      second, 1.0, 0, [&](absl::Status status) { waiting = std::move(status); }, nullptr);
  client.reset();
  EXPECT_THAT(waiting, StatusIs(absl::StatusCode::kUnavailable, "closing"));
  server.ReleaseHung();
}

TEST_F(ClientDeliveryTest, BatchesWhatWaits) {
  FakeRecommender server(LocalSpec());
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ClientOptions options = OptionsFor(server);
  options.deliveries_in_flight_max = 1;
  options.reports_per_delivery_max = 4;
  const auto client = MustConnect(options, OpenStore());
  for (int i = 0; i < 11; ++i) ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  server.ReleaseHung();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  std::vector<std::size_t> sizes;
  for (const auto& delivery : server.deliveries()) sizes.push_back(delivery.reports.size());
  EXPECT_THAT(sizes, ::testing::ElementsAre(1, 4, 4, 2));
}

TEST_F(ClientDeliveryTest, OneSpoiltReportDoesNotTakeTheOthersAlong) {
  FakeRecommender server(LocalSpec());
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  // The batch of three is refused, then its first report alone.
  server.FailDelivery({Fault::Kind::kRefuse, absl::InvalidArgumentError("token does not open")});
  server.FailDelivery({Fault::Kind::kRefuse, absl::InvalidArgumentError("token does not open")});
  ClientOptions options = OptionsFor(server);
  options.deliveries_in_flight_max = 1;
  const auto client = MustConnect(options, OpenStore());
  for (int i = 0; i < 4; ++i) ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  server.ReleaseHung();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 3);
  EXPECT_EQ(client->Stats().reports_applied, 3);
  EXPECT_EQ(client->Stats().reports_rejected, 1);
}

TEST_F(ClientDeliveryTest, EachResultEndsItsReport) {
  const struct {
    v1::OutcomeCode code;
    Delivery delivery;
  } cases[] = {{v1::APPLIED, Delivery::kApplied},
               {v1::DUPLICATE, Delivery::kDuplicate},
               {v1::EXPIRED, Delivery::kExpired},
               {v1::REJECTED, Delivery::kRejected},
               {v1::OUTCOME_CODE_UNSPECIFIED, Delivery::kRejected}};
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  for (const auto& each : cases) {
    v1::OutcomeResult result;
    result.set_code(each.code);
    server.SetResult(result);
    std::optional<Delivery> delivery;
    ASSERT_THAT(client->Report(SelectOne(*client), 1.0, 0, [&](Delivery d) { delivery = d; }),
                IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(delivery, each.delivery) << each.code;
  }
  EXPECT_EQ(client->Stats().reports_rejected, 2);
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

TEST_F(ClientDeliveryTest, ChangedPolicyStopsTheClient) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  const Selection early = SelectOne(*client);
  const Selection late = SelectOne(*client);
  PublicSpec weaker = LocalSpec();
  weaker.epsilon = {8.0};
  server.SetSpec(weaker);
  ASSERT_THAT(client->Report(late, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_rejected, 1);
  ASSERT_TRUE(Eventually([&] { return !client->Select("u", Arms::Inline(kArms)).ok(); }));
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "epsilon_max is 2"));
  const auto spent = client->Spent("u")->events;
  EXPECT_THAT(client->Report(early, 1.0),
              StatusIs(absl::StatusCode::kFailedPrecondition, "changed its configuration"));
  EXPECT_EQ(client->Spent("u")->events, spent);
  EXPECT_TRUE(server.applied_reports().empty());
}

TEST_F(ClientDeliveryTest, PolicyMismatchOfOneReportAsksForTheModelAgain) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  const Selection selection = SelectOne(*client);
  v1::OutcomeResult result;
  result.set_code(v1::REJECTED);
  result.set_reason(v1::POLICY_MISMATCH);
  server.SetResult(result);
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_TRUE(Eventually([&] { return server.model_requests() == 2; }));
  // The model is the one that was agreed on: the client goes on.
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
}

TEST_F(ClientDeliveryTest, ReportsUnderAnotherPolicyAreRejectedAndCountedAtTheNextConnect) {
  FakeRecommender server(LocalSpec());
  {
    const auto client = MustConnect(OptionsFor(server), OpenStore());
    for (int i = 0; i < 50; ++i) {
      server.FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("draining")});
    }
    ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
  }
  const std::size_t before = server.deliveries().size();
  PublicSpec other = LocalSpec();
  other.epsilon = {1.5};
  server.SetSpec(other);
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_rejected, 1);
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(server.deliveries().size(), before);
}

TEST_F(ClientDeliveryTest, SelectRetriesUnavailableOnly) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  server.FailSelect({Fault::Kind::kRefuse, absl::UnavailableError("draining")});
  server.FailSelect({Fault::Kind::kRefuse, absl::ResourceExhaustedError("busy"), 2});
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
  for (const absl::StatusCode code :
       {absl::StatusCode::kNotFound, absl::StatusCode::kInternal,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kFailedPrecondition}) {
    server.FailSelect({Fault::Kind::kRefuse, absl::Status(code, "no")});
    EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), StatusIs(code, "no"));
  }
}

TEST_F(ClientDeliveryTest, SelectEndsWithItsDeadline) {
  FakeRecommender server(LocalSpec());
  ClientOptions options = OptionsFor(server);
  options.select_deadline = absl::Milliseconds(100);
  const auto client = MustConnect(options, OpenStore());
  server.FailSelect({Fault::Kind::kHang, absl::OkStatus()});
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  server.ReleaseHung();
  server.FailSelect({Fault::Kind::kRefuse, absl::UnavailableError("long"), 60'000});
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kUnavailable, "long"));
}

TEST_F(ClientDeliveryTest, RefusesBadSelectionsWithoutACall) {
  FakeRecommender server(LocalSpec());
  const auto client = MustConnect(OptionsFor(server), OpenStore());
  const std::vector<double> odd = {1, 0, 1};
  const std::vector<double> nan = {1, std::nan("")};
  const std::vector<double> none;
  const std::vector<std::uint32_t> no_ids;
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(client->Select("u", Arms::Inline(odd)), StatusIs(invalid, "n x 2"));
  EXPECT_THAT(client->Select("u", Arms::Inline(nan)), StatusIs(invalid, "row 0 is not finite"));
  EXPECT_THAT(client->Select("u", Arms::Inline(none)), StatusIs(invalid, "n x 2"));
  EXPECT_THAT(client->Select("u", Arms::Catalogue(no_ids)), StatusIs(invalid, "arms.ids"));
  EXPECT_THAT(client->Select("", Arms::Inline(kArms)), StatusIs(invalid, "user"));
  EXPECT_THAT(client->Select(std::string(129, 'u'), Arms::Inline(kArms)),
              StatusIs(invalid, "user must have 1 to 128 bytes, got 129"));
  EXPECT_THAT(client->Select("caf\xe9", Arms::Inline(kArms)),
              StatusIs(invalid, "user must be UTF-8"));
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms), 0), StatusIs(invalid, "top_k"));
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms), 101), StatusIs(invalid, "top_k"));
  EXPECT_TRUE(server.selects().empty());
}

TEST_F(ClientDeliveryTest, RefusesHandlesThatAreNotItsOwn) {
  FakeRecommender server(LocalSpec());
  const auto store = OpenStore();
  const auto client = MustConnect(OptionsFor(server), store);
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const Selection selection = SelectOne(*client);
  EXPECT_THAT(client->Report({}, 1.0), StatusIs(invalid, "selection.handle"));
  EXPECT_THAT(client->Report(selection, 1.0, 1), StatusIs(invalid, "shown must be in [0, 1)"));
  EXPECT_THAT(client->Report(selection, 1.0, -1), StatusIs(invalid, "shown"));

  auto other_store = DeviceStore::Open(folder_.File("other.db"));
  ASSERT_THAT(other_store, IsOk());
  const auto other = MustConnect(OptionsFor(server), *other_store);
  EXPECT_THAT(other->Report(selection, 1.0), StatusIs(invalid, "another device store"));
  EXPECT_TRUE(server.deliveries().empty());
}

TEST_F(ClientDeliveryTest, TwoClientsShareAStore) {
  FakeRecommender server(LocalSpec());
  const auto store = OpenStore();
  const auto first = MustConnect(OptionsFor(server), store);
  const Selection selection = SelectOne(*first);
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ASSERT_THAT(first->Report(selection, 1.0), IsOk());
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  // The second must not take over what the first is sending, nor draw it again.
  const auto second = MustConnect(OptionsFor(server), store);
  ASSERT_THAT(second->Report(selection, 0.0), IsOk());
  ASSERT_THAT(second->Report(SelectOne(*second), 1.0), IsOk());
  ASSERT_TRUE(second->Flush(absl::Seconds(10)));
  server.ReleaseHung();
  ASSERT_TRUE(first->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.deliveries().size(), 2);
  EXPECT_EQ(server.applied_reports().size(), 2);
  EXPECT_EQ(first->Spent("u")->events, 2);
  EXPECT_EQ(second->Spent("u")->events, 2);
}

TEST_F(ClientDeliveryTest, EventsOfAUserEndAtTheBound) {
  FakeRecommender server(LocalSpec());
  ClientOptions options = OptionsFor(server);
  options.policy.events_per_user_max = 3;
  {
    const auto client = MustConnect(options, OpenStore());
    std::vector<Selection> selections;
    for (int i = 0; i < 4; ++i) selections.push_back(SelectOne(*client));
    for (int i = 0; i < 3; ++i) ASSERT_THAT(client->Report(selections[i], 1.0), IsOk());
    EXPECT_THAT(client->Report(selections[3], 1.0),
                StatusIs(absl::StatusCode::kFailedPrecondition, "events_per_user_max is 3"));
    EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
                StatusIs(absl::StatusCode::kResourceExhausted, "events_per_user_max is 3"));
    EXPECT_THAT(client->Select("v", Arms::Inline(kArms)), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(client->Spent("u")->epsilon_user, 3.0);
    EXPECT_EQ(client->Spent("u")->epsilon_event, 1.0);
  }
  // Another policy hash does not open the budget again, nor does a restart.
  PublicSpec other = LocalSpec();
  other.token_lifetime = absl::Hours(12);
  server.SetSpec(other);
  const auto client = MustConnect(options, OpenStore());
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kResourceExhausted, "events_per_user_max is 3"));
  EXPECT_EQ(server.applied_reports().size(), 3);
}

TEST_F(ClientDeliveryTest, ConnectSaysWhatIsWrong) {
  FakeRecommender server(LocalSpec());
  ClientOptions options = OptionsFor(server);
  EXPECT_THAT(Client::Connect(options, DeviceStore::InMemory()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "durable store"));
  EXPECT_THAT(Client::Connect(options, nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument, "store"));
  options.policy.epsilon_max = 0.5;
  EXPECT_THAT(Client::Connect(options, OpenStore()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "epsilon_max is 0.5"));
  options.model = "other";
  EXPECT_THAT(Client::Connect(options, OpenStore()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model fake instead of other"));
  options.target = "127.0.0.1:1";
  options.connect_timeout = absl::Milliseconds(50);
  EXPECT_THAT(Client::Connect(options, OpenStore()),
              StatusIs(absl::StatusCode::kUnavailable, "127.0.0.1:1"));
}

}  // namespace
}  // namespace bandana::testing
