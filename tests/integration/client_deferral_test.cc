// Decisions that count from their activation on: before it they are nothing but a ranking.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
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
// Close, guard and the longest jitter.
constexpr absl::Duration kLeft = absl::Seconds(80 + 10 + 1);

PublicSpec Windowed(PublicSpec spec) {
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{kWindow, 0.0};
  return spec;
}

class ClientDeferralTest : public ::testing::Test {
 protected:
  ClientDeferralTest() : server_(WindowSpec(kWindow, 0.0)) {}

  std::unique_ptr<Client> MustConnect(int queue_reports_max = 10'000) {
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    ClientOptions options;
    options.target = server_.target();
    options.model = "fake";
    options.policy = PrivacyPolicy::AcceptAnything();
    options.queue_reports_max = queue_reports_max;
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    Seams seams;
    seams.clock = &clock_;
    seams.recheck = absl::Milliseconds(2);
    auto client = Connect(options, *store, seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  static Selection Defer(Client& client) {
    auto selection = client.SelectDeferred("u", Arms::Inline(kArms));
    EXPECT_THAT(selection, IsOk());
    return selection.value_or(Selection());
  }
  // Long enough for several rechecks of the timer.
  static void LetTheTimerLook() { absl::SleepFor(absl::Milliseconds(30)); }

  TempDir folder_;
  FakeRecommender server_;
  FakeClock clock_;
};

TEST_F(ClientDeferralTest, CountsFromActivationOn) {
  const auto client = MustConnect();
  const Selection shown = Defer(*client);
  Defer(*client);  // never shown
  EXPECT_THAT(server_.selects(), SizeIs(2));
  v1::SelectRequest sent;
  ASSERT_TRUE(sent.ParseFromString(server_.selects()[0]));
  EXPECT_FALSE(sent.deferred());  // the server knows of none
  EXPECT_EQ(client->Spent("u")->events, 0);
  EXPECT_EQ(client->Stats().reports_pending, 0);
  clock_.Advance(absl::Hours(1));
  LetTheTimerLook();
  EXPECT_THAT(server_.deliveries(), IsEmpty());

  ASSERT_THAT(client->Activate(shown), IsOk());
  EXPECT_EQ(client->Spent("u")->events, 1);
  EXPECT_EQ(client->Stats().reports_pending, 1);
  clock_.Advance(kWindow - absl::Seconds(1));
  ASSERT_THAT(client->Report(shown, 1.0), IsOk());
  LetTheTimerLook();
  EXPECT_THAT(server_.deliveries(), IsEmpty());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
  EXPECT_EQ(server_.applied_reports()[0].token(), "token-1");
  EXPECT_EQ(client->Stats().reports_defaulted, 0);
  EXPECT_EQ(client->Spent("u")->events, 1);
}

TEST_F(ClientDeferralTest, AReactionNeitherActivatesNorIsKept) {
  const auto client = MustConnect();
  const Selection selection = Defer(*client);
  EXPECT_THAT(client->Report(selection, 1.0),
              StatusIs(Code::kFailedPrecondition, "the decision is deferred"));
  clock_.Advance(kLeft);
  LetTheTimerLook();
  EXPECT_THAT(server_.deliveries(), IsEmpty());
  EXPECT_EQ(client->Spent("u")->events, 0);
  // From then on it is a decision like any other: without a reaction the default is drawn.
  ASSERT_THAT(client->Activate(selection), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
}

TEST_F(ClientDeferralTest, ARepeatedActivationChangesNothing) {
  Selection selection;
  {
    const auto client = MustConnect();
    selection = Defer(*client);
    ASSERT_THAT(client->Activate(selection), IsOk());
    clock_.Advance(absl::Seconds(60));
    ASSERT_THAT(client->Activate(selection), IsOk());
    EXPECT_EQ(client->Stats().reports_pending, 1);
  }
  const auto client = MustConnect();
  ASSERT_THAT(client->Activate(selection), IsOk());
  clock_.Advance(kLeft - absl::Seconds(60));  // since the first
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
  ASSERT_THAT(client->Activate(selection), IsOk());
  clock_.Advance(kLeft);
  LetTheTimerLook();
  EXPECT_THAT(server_.deliveries(), SizeIs(1));
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(client->Spent("u")->events, 1);
}

TEST_F(ClientDeferralTest, CanBeActivatedAfterARestart) {
  Selection selection;
  {
    const auto client = MustConnect();
    selection = Defer(*client);
  }
  const auto client = MustConnect();
  ASSERT_THAT(client->Activate(selection), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
}

TEST_F(ClientDeferralTest, WhatTheServerWouldNotTakeIsNotActivated) {
  const auto client = MustConnect();
  const Selection old = Defer(*client);
  clock_.Advance(absl::Hours(24) - kLeft - absl::Seconds(11));  // token_lifetime, retry
  ASSERT_THAT(client->Activate(Defer(*client)), IsOk());
  clock_.Advance(absl::Seconds(2));
  EXPECT_THAT(client->Activate(old),
              StatusIs(Code::kFailedPrecondition, "the decision is too old to be activated"));
  EXPECT_EQ(client->Spent("u")->events, 1);
  EXPECT_EQ(client->Stats().reports_pending, 1);
}

TEST_F(ClientDeferralTest, AnActivationIsPaidOrRefused) {
  PublicSpec spec = WindowSpec(kWindow, 0.0);
  spec.events_per_user_max = 1;
  server_.SetSpec(spec);
  const auto client = MustConnect();
  const Selection first = Defer(*client);
  const Selection second = Defer(*client);
  ASSERT_THAT(client->Activate(second), IsOk());
  EXPECT_THAT(client->Activate(first),
              StatusIs(Code::kFailedPrecondition, "the user's events are used up"));
  EXPECT_EQ(client->Spent("u")->events, 1);
  EXPECT_EQ(client->Stats().reports_pending, 1);
  EXPECT_THAT(client->Report(first, 1.0), StatusIs(Code::kFailedPrecondition, "the decision is"));
}

TEST_F(ClientDeferralTest, AnotherEpochEndsIt) {
  PublicSpec spec = Windowed(CounterModelSpec());
  server_.SetSpec(spec);
  Selection selection;
  {
    const auto client = MustConnect();
    selection = Defer(*client);
  }
  server_.SetEpoch(2);
  const auto client = MustConnect();
  EXPECT_THAT(client->Activate(selection), StatusIs(Code::kFailedPrecondition, "the model is in"));
  EXPECT_EQ(client->Spent("u")->events, 0);
}

TEST_F(ClientDeferralTest, WorksWithCountersAndPrivateContexts) {
  server_.SetSpec(Windowed(CounterModelSpec()));
  {
    const auto client = MustConnect();
    ASSERT_THAT(client->Activate(Defer(*client)), IsOk());
    clock_.Advance(kLeft);
    ASSERT_TRUE(Eventually([&] {
      const auto streams = server_.streams();
      return streams.size() == 1 && streams.begin()->second.step == 1;
    }));
  }
  v1::GetPosteriorResponse posterior;
  posterior.set_version(1);
  posterior.add_alphas(0);
  for (const double mean : {0.5, 0.25}) posterior.add_means(mean);
  for (const double entry : {1.0, 0.0, 1.0}) posterior.add_covariances(entry);
  server_.SetPosterior(posterior);
  server_.SetSpec(Windowed(ContextModelSpec()));
  const auto client = MustConnect();
  const auto before = server_.selects().size();
  ASSERT_TRUE(Eventually([&] { return client->SelectDeferred("u", Arms::Inline(kArms)).ok(); }));
  ASSERT_THAT(client->Activate(Defer(*client)), IsOk());
  EXPECT_EQ(server_.selects().size(), before);
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return server_.applied_contexts().size() == 1; }));
}

// --- Models whose windows the server closes.

PublicSpec ClosedByServer(Mode mode) {
  PublicSpec spec = mode == Mode::kNonPrivate ? Windowed(RawSpec()) : WindowSpec(kWindow, 0.0);
  spec.mode = mode;
  spec.reward_window->grace = absl::Seconds(20);
  return spec;
}

v1::ActivateRequest Called(const std::string& bytes) {
  v1::ActivateRequest request;
  EXPECT_TRUE(request.ParseFromString(bytes));
  return request;
}

TEST_F(ClientDeferralTest, AServerThatClosesTheWindowsIsToldWhatIsShown) {
  for (const Mode mode : {Mode::kCentralReward, Mode::kNonPrivate}) {
    server_.SetSpec(ClosedByServer(mode));
    const bool here = mode == Mode::kCentralReward;  // the window is open here as well
    const std::size_t before = server_.activations().size();
    const std::size_t selects = server_.selects().size();
    const auto client = MustConnect();
    const Selection shown = Defer(*client);
    Defer(*client);  // never shown
    v1::SelectRequest sent;
    ASSERT_TRUE(sent.ParseFromString(server_.selects()[selects]));
    EXPECT_TRUE(sent.deferred());
    EXPECT_EQ(client->Stats().reports_pending, 0);
    EXPECT_EQ(server_.activations().size(), before);

    ASSERT_THAT(client->Activate(shown), IsOk());
    EXPECT_EQ(client->Stats().reports_pending, here ? 1 : 0);
    ASSERT_THAT(client->Report(shown, 0.75), IsOk());
    if (here) clock_.Advance(kLeft);
    ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
    ASSERT_EQ(server_.activations().size(), before + 1);
    const v1::ActivateRequest call = Called(server_.activations().back());
    ASSERT_EQ(call.tokens_size(), 1);
    EXPECT_EQ(call.tokens(0), server_.applied_outcomes().back().token());
    EXPECT_EQ(call.model(), "fake");
    EXPECT_EQ(server_.applied_outcomes().back().reward(), 0.75);
  }
}

TEST_F(ClientDeferralTest, TheReportWaitsUntilTheServerKnowsThatItsDecisionIsShown) {
  for (const Mode mode : {Mode::kCentralReward, Mode::kNonPrivate}) {
    server_.SetSpec(ClosedByServer(mode));
    const auto client = MustConnect();
    const std::size_t before = server_.activations().size();
    const std::size_t delivered = server_.deliveries().size();
    server_.FailActivation({.kind = Fault::Kind::kHang, .status = absl::UnavailableError("late")});
    server_.FailActivation({.status = absl::UnavailableError("no")});
    const Selection shown = Defer(*client);
    ASSERT_THAT(client->Activate(shown), IsOk());
    ASSERT_THAT(client->Report(shown, 1.0), IsOk());
    clock_.Advance(kLeft);
    LetTheTimerLook();
    EXPECT_EQ(server_.deliveries().size(), delivered);
    server_.ReleaseHung();
    ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
    const std::vector<std::string> calls = server_.activations();
    ASSERT_EQ(calls.size(), before + 3);
    EXPECT_EQ(calls[before], calls[before + 1]);
    EXPECT_EQ(calls[before], calls[before + 2]);
    EXPECT_EQ(client->Stats().reports_rejected, 0);
  }
}

TEST_F(ClientDeferralTest, TheCallOutlivesTheProcessWithTheSameBytes) {
  for (const Mode mode : {Mode::kCentralReward, Mode::kNonPrivate}) {
    server_.SetSpec(ClosedByServer(mode));
    const std::size_t before = server_.activations().size();
    {
      const auto client = MustConnect();
      server_.FailActivation({.kind = Fault::Kind::kHang, .status = absl::UnavailableError("no")});
      const Selection shown = Defer(*client);
      ASSERT_THAT(client->Activate(shown), IsOk());
      ASSERT_THAT(client->Report(shown, 1.0), IsOk());
      ASSERT_TRUE(Eventually([&] { return server_.activations().size() == before + 1; }));
      server_.ReleaseHung();
    }
    clock_.Advance(kLeft);
    auto client = MustConnect();
    ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
    const std::vector<std::string> calls = server_.activations();
    for (std::size_t i = before; i < calls.size(); ++i) EXPECT_EQ(calls[i], calls[before]);
    EXPECT_EQ(client->Stats().reports_rejected, 0);
    // Once it was answered there is nothing left of it.
    const std::size_t after = calls.size();
    EXPECT_TRUE(client->Flush(absl::Seconds(10)));
    client.reset();
    client = MustConnect();
    EXPECT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(server_.activations().size(), after);
  }
}

TEST_F(ClientDeferralTest, ACallThatIsRefusedForGoodEnds) {
  server_.SetSpec(ClosedByServer(Mode::kCentralReward));
  const auto client = MustConnect();
  server_.FailActivation({.status = absl::NotFoundError("no such model")});
  ASSERT_THAT(client->Activate(Defer(*client)), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_rejected == 1; }));
  EXPECT_THAT(server_.activations(), SizeIs(1));
}

TEST_F(ClientDeferralTest, WithoutPrivacyNoMoreCallsWaitThanTheQueueHolds) {
  server_.SetSpec(ClosedByServer(Mode::kNonPrivate));
  const auto client = MustConnect(/*queue_reports_max=*/2);
  const Selection first = Defer(*client);
  const Selection second = Defer(*client);
  const Selection third = Defer(*client);
  for (int i = 0; i < 2; ++i) server_.FailActivation({.kind = Fault::Kind::kHang});
  ASSERT_THAT(client->Activate(first), IsOk());
  ASSERT_THAT(client->Activate(second), IsOk());
  EXPECT_THAT(client->Activate(third),
              StatusIs(Code::kResourceExhausted, "the report queue is full"));
  EXPECT_THAT(client->Activate(first), IsOk());  // a repeat
  ASSERT_TRUE(Eventually([&] { return server_.activations().size() == 2; }));
  for (int i = 0; i < 2; ++i) server_.ReleaseHung();
  EXPECT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(client->Activate(third), IsOk());
  EXPECT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(server_.activations(), SizeIs(3));
}

TEST_F(ClientDeferralTest, WhatTheServerWouldNotActivateIsNotPaidFor) {
  PublicSpec spec = ClosedByServer(Mode::kCentralReward);
  spec.events_per_user_max = 1;
  server_.SetSpec(spec);
  const auto client = MustConnect();
  const Selection old = Defer(*client);
  const Selection first = Defer(*client);
  const Selection second = Defer(*client);
  clock_.Advance(kWindow + spec.reward_window->grace + absl::Minutes(5) - absl::Seconds(1));
  ASSERT_THAT(client->Activate(first), IsOk());
  EXPECT_THAT(client->Activate(second),
              StatusIs(Code::kFailedPrecondition, "the user's events are used up"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(client->Activate(old),
              StatusIs(Code::kFailedPrecondition, "the decision is too old to be activated"));
  EXPECT_EQ(client->Spent("u")->events, 1);
  EXPECT_EQ(client->Stats().reports_pending, 1);
  EXPECT_THAT(server_.activations(), SizeIs(1));
}

TEST_F(ClientDeferralTest, IsRefusedWhereThereAreNoWindows) {
  for (const PublicSpec& spec : {LocalSpec(), RawSpec()}) {
    server_.SetSpec(spec);
    const auto client = MustConnect();
    EXPECT_THAT(client->SelectDeferred("u", Arms::Inline(kArms)),
                StatusIs(Code::kFailedPrecondition, "model fake has no reward window"));
    EXPECT_THAT(server_.selects(), IsEmpty());
  }
  // A selection that is not deferred counts already.
  const auto client = MustConnect();
  EXPECT_THAT(client->Activate(*client->Select("u", Arms::Inline(kArms))), IsOk());
  EXPECT_THAT(server_.activations(), IsEmpty());
}

}  // namespace
}  // namespace bandana::device
