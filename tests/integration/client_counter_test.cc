// The SDK with a counter model against a server in the test's process: what is sent, paid,
// repeated, ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bandana/client.h"
#include "client/src/seams.h"
#include "common/accounting/zcdp.h"
#include "tests/support/failing_bits.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};

// So much noise that nothing can be read from one release; or, for arithmetic, hardly any.
PublicSpec SpecOf(double epsilon) {
  PublicSpec spec = CounterModelSpec();
  spec.epsilon = {epsilon};
  spec.research = epsilon > 20;
  return spec;
}

class ClientCounterTest : public ::testing::Test {
 protected:
  struct Setup {
    BitSource* bits = &SystemBits();
    std::uint64_t events_max = 0;
    const Clock* clock = &SystemClock();
    std::string key;
  };
  std::unique_ptr<Client> MustConnect(const FakeRecommender& server, const Setup& setup) {
    auto store = DeviceStore::Open(path_, {.key = setup.key});
    EXPECT_THAT(store, IsOk());
    if (!store.ok()) return nullptr;
    auto client = TryConnect(server, setup, *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  std::unique_ptr<Client> MustConnect(const FakeRecommender& server) {
    return MustConnect(server, Setup{});
  }
  static absl::StatusOr<std::unique_ptr<Client>> TryConnect(const FakeRecommender& server,
                                                            const Setup& setup,
                                                            std::shared_ptr<DeviceStore> store) {
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    options.policy.epsilon_max = 1000;
    options.policy.delta_max = 1e-6;
    options.policy.allow_research = true;
    options.policy.events_per_user_max = setup.events_max;
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    Seams seams;
    seams.bits = setup.bits;
    seams.clock = setup.clock;
    seams.recheck = absl::Milliseconds(2);
    return Connect(options, std::move(store), seams);
  }
  // One decision: the first arm, (1, 0), is shown.
  static absl::Status Event(Client& client, double reward, const std::string& user = "u",
                            int shown = 0) {
    auto selection = client.Select(user, Arms::Inline(kArms), 2);
    if (!selection.ok()) return selection.status();
    return client.Report(*selection, reward, shown);
  }
  static std::vector<StreamInfo> StreamsOf(const Client& client, const std::string& user = "u") {
    return *client.Streams(user);
  }
  std::string StoredBytes() const {
    std::ostringstream all;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      all << std::ifstream(file.path(), std::ios::binary).rdbuf();
    }
    return all.str();
  }

  testing::TempDir folder_;
  const std::string path_ = folder_.File("device.db");
};

TEST_F(ClientCounterTest, SendsTheNoisySumOfCentredRewardsWithItsTokens) {
  const PublicSpec spec = SpecOf(1000);
  FakeRecommender server(spec);
  const auto client = MustConnect(server);
  // (1, 0) * (r - 1/2), then (0, 1) * (r - 1/2); 7 is clipped to 1.
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_THAT(Event(*client, 0.25), IsOk());
  ASSERT_THAT(Event(*client, 7.0, "u", 1), IsOk());
  ASSERT_THAT(Event(*client, std::nan(""), "u", 1), IsOk());  // the default, reward_min
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto streams = server.streams();
  ASSERT_THAT(streams, SizeIs(1));
  const auto& [name, stream] = *streams.begin();
  EXPECT_EQ(name.size(), 16);
  EXPECT_EQ(stream.step, 4);
  EXPECT_THAT(stream.tokens, ElementsAre("token-1", "token-2", "token-3", "token-4"));
  const double sd = std::sqrt(testing::DesignOf(spec).PredictedVariance(4));
  ASSERT_LT(sd, 0.1);
  const auto& moment = stream.moments.at(4);
  EXPECT_NEAR(moment[0], 0.5 - 0.25, 6 * sd);
  EXPECT_NEAR(moment[1], 0.5 - 0.5, 6 * sd);
  EXPECT_EQ(server.counter_reports()
                .back()
                .steps(server.counter_reports().back().steps_size() - 1)
                .shown(),
            1);
  EXPECT_EQ(client->Stats().reports_applied, 4);
  EXPECT_EQ(client->Stats().rewards_clipped, 1);
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(client->model().mechanism, "counter");
}

TEST_F(ClientCounterTest, AStreamAUserPaidOnce) {
  const PublicSpec spec = SpecOf(1);
  FakeRecommender server(spec);
  const auto client = MustConnect(server);
  for (int i = 0; i < 20; ++i) ASSERT_THAT(Event(*client, 1.0, i % 2 ? "u" : "v"), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(server.streams(), SizeIs(2));
  for (const char* user : {"u", "v"}) {
    const auto streams = StreamsOf(*client, user);
    ASSERT_THAT(streams, SizeIs(1));
    EXPECT_EQ(streams[0].steps, 10);
    EXPECT_EQ(streams[0].epoch, 1);
    EXPECT_EQ(streams[0].ended, "");
    const PrivacySpent spent = *client->Spent(user);
    EXPECT_EQ(spent.events, 10);
    EXPECT_EQ(spent.streams, 1);
    EXPECT_EQ(spent.epsilon_event, 1);
    EXPECT_EQ(spent.delta_event, 1e-6);
    EXPECT_GT(spent.epsilon_user, 10);  // ten events in one counter: rho grows by their square
    const LedgerReadings readings = *client->Readings(user, 1e-6);
    EXPECT_FALSE(readings.epsilon_pure);
    EXPECT_FALSE(readings.epsilon_gaussian);
    ASSERT_TRUE(readings.epsilon_zcdp);
    // Within the model's promise, and using it up to the calibration's rounding.
    EXPECT_LE(*readings.epsilon_zcdp, 1.0 + 1e-6);
    EXPECT_GE(*readings.epsilon_zcdp, 0.99);
  }
  EXPECT_EQ(client->Spent("stranger")->streams, 0);
  EXPECT_THAT(client->Readings("u", 2), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ClientCounterTest, GoesOnAfterARestart) {
  FakeRecommender server(SpecOf(1000));
  for (int run = 0; run < 3; ++run) {
    const auto client = MustConnect(server);
    for (int i = 0; i < 5; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(client->Spent("u")->streams, 1);
  }
  ASSERT_THAT(server.streams(), SizeIs(1));
  EXPECT_EQ(server.streams().begin()->second.step, 15);
  EXPECT_NEAR(server.streams().begin()->second.moments.at(15)[0], 7.5, 1);
}

TEST_F(ClientCounterTest, RepeatsTheSameBytesAndSettlesAllThatWaited) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  for (int i = 0; i < 3; ++i) {
    server.FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("down")});
  }
  server.FailDelivery({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
  for (int i = 0; i < 10; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto deliveries = server.deliveries();
  ASSERT_GE(deliveries.size(), 6);
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(deliveries[i].bytes, deliveries[0].bytes);
  EXPECT_EQ(server.streams().begin()->second.step, 10);
  EXPECT_EQ(client->Stats().reports_applied + client->Stats().reports_duplicate, 10);
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

TEST_F(ClientCounterTest, WhatWasNotAcknowledgedIsSentAgainAsItWas) {
  FakeRecommender dead(SpecOf(1));
  for (int i = 0; i < 1000; ++i) {
    dead.FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("down")});
  }
  {
    const auto client = MustConnect(dead);
    for (int i = 0; i < 3; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
    ASSERT_TRUE(Eventually([&] { return dead.deliveries().size() >= 2; }));
  }
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  EXPECT_EQ(client->Stats().reports_pending + client->Stats().reports_applied, 3);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto stream = server.streams().begin()->second;
  EXPECT_THAT(stream.tokens, SizeIs(3));
  // Step by step the same, whatever report it rode in.
  std::map<std::uint64_t, std::vector<double>> moments;
  for (const auto* each : {&dead, &server}) {
    for (const auto& report : each->counter_reports()) {
      const std::vector<double> moment(report.moment().begin(), report.moment().end());
      EXPECT_EQ(moments.emplace(report.step(), moment).first->second, moment);
    }
  }
}

TEST_F(ClientCounterTest, ManyWaitingStepsLeaveInSeveralReports) {
  FakeRecommender server(SpecOf(1000));
  server.FailDelivery({Fault::Kind::kHang, absl::UnavailableError("late")});
  const auto client = MustConnect(server);
  for (int i = 0; i < 100; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
  server.ReleaseHung();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto stream = server.streams().begin()->second;
  EXPECT_EQ(stream.step, 100);
  EXPECT_NEAR(stream.moments.at(100)[0], 50, 2);
  for (const auto& report : server.counter_reports()) EXPECT_LE(report.steps_size(), 32);
}

TEST_F(ClientCounterTest, AServerThatTakesFewerStepsInACallGetsThemOneByOne) {
  FakeRecommender server(SpecOf(1));
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  const auto client = MustConnect(server);
  for (int i = 0; i < 10; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
  server.FailDelivery({Fault::Kind::kRefuse, absl::InvalidArgumentError("too many steps")});
  server.ReleaseHung();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().streams_ended, 0);
  EXPECT_EQ(server.streams().begin()->second.step, 10);
  EXPECT_EQ(server.counter_reports().back().steps_size(), 1);
}

TEST_F(ClientCounterTest, SecondReportsOfADecisionTakeNoStep) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  const Selection selection = *client->Select("u", Arms::Inline(kArms));
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());
  std::optional<Delivery> again;
  ASSERT_THAT(client->Report(selection, 0.0, 0, [&](Delivery d) { again = d; }), IsOk());
  EXPECT_EQ(again, Delivery::kDuplicate);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(StreamsOf(*client)[0].steps, 1);
}

TEST_F(ClientCounterTest, EntropyFailureTakesNoStepAndTheDebitStands) {
  FakeRecommender server(SpecOf(1));
  FailingBits dry(0);
  Selection selection;
  {
    const auto client = MustConnect(server, {.bits = &dry});
    selection = *client->Select("u", Arms::Inline(kArms));
    EXPECT_THAT(client->Report(selection, 1.0), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(StreamsOf(*client)[0].steps, 0);
    EXPECT_EQ(client->Spent("u")->streams, 1);
  }
  EXPECT_THAT(server.deliveries(), IsEmpty());
  const auto client = MustConnect(server);
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Spent("u")->streams, 1);  // the same stream, paid before
  EXPECT_EQ(server.streams().begin()->second.step, 1);
}

TEST_F(ClientCounterTest, AtItsLastStepNothingIsDrawnAndNothingRawIsKept) {
  PublicSpec spec = SpecOf(1000);
  spec.counter->horizon = spec.counter->steps_max = 3;
  FakeRecommender server(spec);
  const auto client = MustConnect(server);
  for (int i = 0; i < 3; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
  EXPECT_THAT(Event(*client, 1.0),
              StatusIs(absl::StatusCode::kFailedPrecondition, "takes no more steps"));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.streams().begin()->second.step, 3);
  ASSERT_THAT(StreamsOf(*client), SizeIs(1));
  EXPECT_EQ(StreamsOf(*client)[0].ended, "exhausted");
}

TEST_F(ClientCounterTest, EventsOfAUserAreBounded) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server, {.events_max = 2});
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  EXPECT_THAT(Event(*client, 1.0), StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.streams().begin()->second.step, 2);
}

TEST_F(ClientCounterTest, NeedsInlineArmsAndADurableStore) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  const std::vector<std::uint32_t> ids = {1, 2};
  EXPECT_THAT(client->Select("u", Arms::Catalogue(ids)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "arms must be inline"));
  EXPECT_THAT(client->SelectOnDevice("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "counts on the device"));
  EXPECT_THAT(TryConnect(server, Setup{}, DeviceStore::InMemory()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "durable store"));
}

// --------------------------------------------------------------------------- streams that end

TEST_F(ClientCounterTest, AForkedStreamEndsAndANewOneIsPaid) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  v1::CounterResult forked;
  forked.set_code(v1::REJECTED);
  forked.set_reason(v1::STREAM_FORKED);
  server.SetCounterResult(forked);
  std::optional<Delivery> delivery;
  ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), 1.0, 0,
                             [&](Delivery d) { delivery = d; }),
              IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(delivery, Delivery::kRejected);
  EXPECT_EQ(client->Stats().streams_ended, 1);
  EXPECT_EQ(client->Stats().reports_rejected, 1);
  EXPECT_EQ(StreamsOf(*client)[0].ended, "forked");
  server.SetCounterResult(std::nullopt);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(server.streams(), SizeIs(2));
  ASSERT_THAT(StreamsOf(*client), SizeIs(2));
  EXPECT_EQ(StreamsOf(*client)[1].steps, 1);
  EXPECT_EQ(client->Spent("u")->streams, 2);
  EXPECT_GT(*client->Readings("u", 1e-6)->epsilon_zcdp, 1.3);  // the ledger adds both
  EXPECT_EQ(client->Spent("u")->epsilon_event, 1);             // an event lies in one of them
}

TEST_F(ClientCounterTest, AServerThatLostStepsEndsTheStream) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  server.RollBackStreams(2);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(StreamsOf(*client)[0].ended, "gap");
}

TEST_F(ClientCounterTest, AStoreCopiedWithItsAnchorIsFoundByTheServersStep) {
  FakeRecommender server(SpecOf(1));
  {
    const auto client = MustConnect(server);
    for (int i = 0; i < 2; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  testing::TempDir copies;
  const std::string copy = copies.File("device.db");
  std::filesystem::copy_file(path_, copy);
  std::filesystem::copy_file(path_ + ".anchor", copy + ".anchor");
  {
    const auto client = MustConnect(server);
    for (int i = 0; i < 4; ++i) ASSERT_THAT(Event(*client, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(copy + ".anchor", path_ + ".anchor",
                             std::filesystem::copy_options::overwrite_existing);
  const auto client = MustConnect(server);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(StreamsOf(*client)[0].ended, "forked");
}

TEST_F(ClientCounterTest, AnOlderCopyEndsTheStreamBeforeAnythingIsSent) {
  FakeRecommender server(SpecOf(1));
  {
    const auto client = MustConnect(server);
    ASSERT_THAT(Event(*client, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  const std::string copy = folder_.File("copy.db");
  std::filesystem::copy_file(path_, copy);
  Selection late;
  {
    const auto client = MustConnect(server);
    late = *client->Select("u", Arms::Inline(kArms));
    ASSERT_THAT(client->Report(late, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
  const auto client = MustConnect(server);
  EXPECT_EQ(StreamsOf(*client)[0].ended, "rolled back");
  // The decision of the lost run cannot be drawn a second time.
  std::optional<Delivery> delivery;
  ASSERT_THAT(client->Report(late, 0.0, 0, [&](Delivery d) { delivery = d; }), IsOk());
  EXPECT_EQ(delivery, Delivery::kExpired);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(server.streams(), SizeIs(2));
  EXPECT_EQ(client->Spent("u")->streams, 2);
}

TEST_F(ClientCounterTest, ExhaustionByTheServerIsFinalInTheEpoch) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  v1::CounterResult exhausted;
  exhausted.set_code(v1::REJECTED);
  exhausted.set_reason(v1::STREAM_EXHAUSTED);
  server.SetCounterResult(exhausted);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(Event(*client, 1.0), StatusIs(absl::StatusCode::kFailedPrecondition, "exhausted"));
  EXPECT_EQ(client->Spent("u")->streams, 1);
  // Being refused, the client asks for the epoch again.
  server.SetCounterResult(std::nullopt);
  server.SetEpoch(2);
  ASSERT_TRUE(Eventually([&] { return Event(*client, 1.0).ok(); }));
  EXPECT_EQ(StreamsOf(*client).back().epoch, 2);
  EXPECT_EQ(client->Spent("u")->streams, 2);
}

TEST_F(ClientCounterTest, ANewEpochOpensANewStream) {
  FakeRecommender server(SpecOf(1));
  const auto client = MustConnect(server);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  // The server refuses tokens of the old epoch; the client asks for the model again.
  server.SetEpoch(2);
  v1::CounterResult foreign;
  foreign.set_code(v1::REJECTED);
  foreign.set_reason(v1::TOKEN_FOREIGN);
  server.SetCounterResult(foreign);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(StreamsOf(*client)[0].ended, "token");
  ASSERT_TRUE(Eventually([&] { return server.model_requests() >= 2; }));
  server.SetCounterResult(std::nullopt);
  ASSERT_TRUE(Eventually([&] {
    EXPECT_THAT(Event(*client, 1.0), IsOk());
    return StreamsOf(*client).back().epoch == 2;
  }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
}

TEST_F(ClientCounterTest, AChangedModelIsAgreedToAnewAndItsOldStreamsEnd) {
  FakeRecommender server(SpecOf(1));
  {
    const auto client = MustConnect(server);
    ASSERT_THAT(Event(*client, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    const auto late = client->Select("u", Arms::Inline(kArms));
    ASSERT_THAT(late, IsOk());
    server.SetSpec(SpecOf(2));
    ASSERT_THAT(client->Report(*late, 1.0), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(StreamsOf(*client)[0].ended, "refused");
    ASSERT_TRUE(Eventually([&] {
      return client->Select("u", Arms::Inline(kArms)).status().code() ==
             absl::StatusCode::kFailedPrecondition;
    }));
  }
  const auto client = MustConnect(server);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Spent("u")->streams, 2);
  EXPECT_EQ(client->Spent("u")->epsilon_event, 2);
}

// -------------------------------------------------------------------------------------- windows

TEST_F(ClientCounterTest, StepsOfAWindowAreTakenInItsOwnOrderWhateverWasReported) {
  PublicSpec spec = SpecOf(1000);
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{absl::Seconds(80), 0.5};
  FakeRecommender server(spec);
  FakeClock clock;
  const auto client = MustConnect(server, {.clock = &clock});
  std::vector<Selection> selections;
  for (int i = 0; i < 4; ++i) {
    selections.push_back(*client->Select("u", Arms::Inline(kArms), {2, i == 2 ? 1 : 0}));
    clock.Advance(absl::Seconds(20));  // more than the jitter
  }
  // Only the third is reacted to.
  ASSERT_THAT(client->Report(selections[2], 1.0, 1), IsOk());
  std::optional<Delivery> again;
  ASSERT_THAT(client->Report(selections[2], 0.0, 1, [&](Delivery d) { again = d; }), IsOk());
  EXPECT_EQ(again, Delivery::kDuplicate);
  EXPECT_THAT(server.deliveries(), IsEmpty());
  for (int i = 0; i < 6; ++i) clock.Advance(absl::Seconds(20));
  ASSERT_TRUE(Eventually([&] {
    const auto streams = server.streams();
    return !streams.empty() && streams.begin()->second.step == 4;
  }));
  const auto stream = server.streams().begin()->second;
  EXPECT_THAT(stream.tokens, ElementsAre("token-1", "token-2", "token-3", "token-4"));
  EXPECT_NEAR(stream.moments.at(4)[0], 0, 0.5);
  EXPECT_NEAR(stream.moments.at(4)[1], 0.5, 0.5);  // the arm that was shown at rank 1
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 4; }));
  EXPECT_EQ(client->Stats().reports_defaulted, 3);
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(client->Spent("u")->events, 4);
}

// -------------------------------------------------------------------------------- what is stored

TEST_F(ClientCounterTest, WithAKeyTheFileHoldsNoStateRewardOrToken) {
  PublicSpec spec = SpecOf(1);
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{absl::Hours(1), 0.5};
  FakeRecommender server(spec);
  FakeClock clock;
  const Setup setup = {.clock = &clock, .key = std::string(32, 'k')};
  const double reward = 0.7351239846;
  {
    const auto client = MustConnect(server, setup);
    const Selection selection = *client->Select("u", Arms::Inline(kArms));
    ASSERT_THAT(client->Report(selection, reward), IsOk());
    const std::string stored = StoredBytes();
    EXPECT_EQ(stored.find("token-1"), std::string::npos);
    EXPECT_EQ(stored.find(std::string(reinterpret_cast<const char*>(&reward), 8)),
              std::string::npos);
    EXPECT_EQ(stored.find("BNDCTR"), std::string::npos);
  }
  // The held reaction survives the restart.
  const auto client = MustConnect(server, setup);
  clock.Advance(absl::Hours(2));
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
  EXPECT_EQ(client->Stats().reports_defaulted, 0);
  EXPECT_EQ(StoredBytes().find("BNDCTR"), std::string::npos);
}

TEST_F(ClientCounterTest, AnEndedStreamLeavesNoState) {
  FakeRecommender server(SpecOf(1));
  auto client = MustConnect(server);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  v1::CounterResult refused;
  refused.set_code(v1::REJECTED);
  refused.set_reason(v1::STREAM_FORKED);
  server.SetCounterResult(refused);
  ASSERT_THAT(Event(*client, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  // The file is sealed by the store's own key: the state's column tells.
  client = nullptr;
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  sqlite3_stmt* lengths = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT end, length(state) FROM streams", -1, &lengths, nullptr),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_step(lengths), SQLITE_ROW);
  EXPECT_NE(sqlite3_column_int(lengths, 0), 0);
  EXPECT_EQ(sqlite3_column_int(lengths, 1), 0);
  sqlite3_finalize(lengths);
  sqlite3_close(db);
}

}  // namespace
}  // namespace bandana::device
