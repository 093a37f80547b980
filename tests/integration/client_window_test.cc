// Reward windows under a clock that the test moves: each decision is one event, at its due time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/core/delivery/window_timer.h"
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

// The system's bits, counted, until it is dry.
class SteeredBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    if (dry) return absl::UnavailableError("entropy: dry");
    ++fills;
    return SystemBits().Fill(out);
  }
  std::atomic<bool> dry{false};
  std::atomic<int> fills{0};
};

class ClientWindowTest : public ::testing::Test {
 protected:
  ClientWindowTest() : server_(WindowSpec(kWindow, 0.0)) {}

  std::unique_ptr<Client> MustConnect(int queue_reports_max = 100) {
    ClientOptions options;
    options.target = server_.target();
    options.model = "fake";
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    options.queue_reports_max = queue_reports_max;
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    Seams seams;
    seams.clock = &clock_;
    seams.bits = &bits_;
    seams.recheck = absl::Milliseconds(2);
    auto client = Connect(options, *store, seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  Selection SelectOne(Client& client) {
    auto selection = client.Select("u", Arms::Inline(kArms));
    EXPECT_THAT(selection, IsOk());
    return selection.value_or(Selection());
  }
  // Long enough for several rechecks of the timer.
  static void LetTheTimerLook() { absl::SleepFor(absl::Milliseconds(30)); }

  testing::TempDir folder_;
  FakeRecommender server_;
  FakeClock clock_;
  SteeredBits bits_;
};

TEST_F(ClientWindowTest, NothingLeavesBeforeTheCloseWhateverWasReported) {
  const auto client = MustConnect();
  const Selection reported = SelectOne(*client);
  SelectOne(*client);
  ASSERT_THAT(client->Report(reported, 1.0), IsOk());
  EXPECT_EQ(client->Stats().reports_queued, 1);
  clock_.Advance(kWindow - absl::Milliseconds(1));
  LetTheTimerLook();
  EXPECT_TRUE(server_.deliveries().empty());
  // Closed: neither is drawn, nor leaves, within the guard.
  clock_.Advance(absl::Milliseconds(1));
  LetTheTimerLook();
  EXPECT_EQ(bits_.fills, 0);
  EXPECT_TRUE(server_.deliveries().empty());
  clock_.Advance(kLeft - kWindow);
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 2; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_queued, 2);
  EXPECT_EQ(client->Stats().reports_applied, 2);
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(client->Spent("u")->events, 2);
}

TEST_F(ClientWindowTest, LateAndSecondReportsDrawNothing) {
  const auto client = MustConnect();
  const Selection first = SelectOne(*client);
  const Selection second = SelectOne(*client);
  ASSERT_THAT(client->Report(first, 1.0), IsOk());
  const int drawn = bits_.fills;
  std::optional<Delivery> again, late;
  ASSERT_THAT(client->Report(first, 0.0, 0, [&](Delivery d) { again = d; }), IsOk());
  EXPECT_EQ(again, Delivery::kDuplicate);
  EXPECT_EQ(bits_.fills, drawn);
  clock_.Advance(kWindow);
  ASSERT_THAT(client->Report(second, 1.0, 0, [&](Delivery d) { late = d; }), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 2; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_NE(late, Delivery::kApplied);
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
  EXPECT_EQ(client->Spent("u")->events, 2);
}

TEST_F(ClientWindowTest, OpenDecisionsSurviveARestart) {
  Selection selection;
  {
    const auto client = MustConnect();
    selection = SelectOne(*client);
    SelectOne(*client);
    const Selection third = SelectOne(*client);
    ASSERT_THAT(client->Report(third, 1.0), IsOk());
  }
  const auto client = MustConnect();
  EXPECT_EQ(client->Stats().reports_pending, 3);
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());
  LetTheTimerLook();
  EXPECT_TRUE(server_.deliveries().empty());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_defaulted == 1; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server_.applied_reports().size(), 3);
  EXPECT_EQ(client->Spent("u")->events, 3);
}

TEST_F(ClientWindowTest, WindowsThatClosedWhileNobodyRanStillBecomeOneEvent) {
  {
    const auto client = MustConnect();
    SelectOne(*client);
  }
  clock_.Advance(absl::Hours(1));
  const auto client = MustConnect();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server_.applied_reports().size(), 1);
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
}

TEST_F(ClientWindowTest, NoEntropyNoReport) {
  const auto client = MustConnect();
  const Selection selection = SelectOne(*client);
  SelectOne(*client);
  bits_.dry = true;
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());  // it is held: nothing is drawn yet
  clock_.Advance(kLeft);
  LetTheTimerLook();
  EXPECT_TRUE(server_.deliveries().empty());
  EXPECT_EQ(client->Stats().reports_defaulted, 0);
  bits_.dry = false;
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 2; }));
}

TEST_F(ClientWindowTest, QueueCountsOpenDecisions) {
  const auto client = MustConnect(/*queue_reports_max=*/2);
  SelectOne(*client);
  server_.FailSelect({Fault::Kind::kRefuse, absl::NotFoundError("user")});
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), StatusIs(absl::StatusCode::kNotFound));
  SelectOne(*client);  // the failed one gave its place back
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kResourceExhausted, "queue is full"));
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 2; }));
  SelectOne(*client);
}

TEST_F(ClientWindowTest, SelectDebitsSoThatEveryDecisionShownCanBeReported) {
  PublicSpec spec = WindowSpec(kWindow, 0.0);
  spec.events_per_user_max = 2;
  server_.SetSpec(spec);
  const auto client = MustConnect();
  SelectOne(*client);
  EXPECT_EQ(client->Spent("u")->events, 1);
  SelectOne(*client);
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kResourceExhausted, "events_per_user_max is 2"));
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 2; }));
}

TEST_F(ClientWindowTest, ChangedPolicyEndsOpenWindowsWithoutADraw) {
  {
    const auto client = MustConnect();
    SelectOne(*client);
  }
  PublicSpec other = WindowSpec(kWindow, 0.5);
  server_.SetSpec(other);
  const auto client = MustConnect();
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_rejected == 1; }));
  EXPECT_EQ(bits_.fills, 0);
  EXPECT_TRUE(server_.deliveries().empty());
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

// Where the server sees rewards they wait for their window all the same: that a report came would
// tell everybody else.
TEST_F(ClientWindowTest, ReportsOfCentralModelsLeaveWhenTheyAreDueToo) {
  PublicSpec spec = WindowSpec(kWindow, 0.25);
  spec.mode = Mode::kCentralReward;
  spec.reward_window->grace = absl::Seconds(20);
  server_.SetSpec(spec);
  ClientOptions options;
  options.target = server_.target();
  options.model = "fake";
  options.policy.require_local = false;
  Seams seams;
  seams.clock = &clock_;
  seams.recheck = absl::Milliseconds(2);
  const auto client = Connect(options, DeviceStore::InMemory(), seams);
  ASSERT_THAT(client, IsOk());
  const Selection reacted = SelectOne(**client);
  SelectOne(**client);
  ASSERT_THAT((*client)->Report(reacted, 7.5), IsOk());  // clipped to 1
  clock_.Advance(kWindow);
  LetTheTimerLook();
  EXPECT_TRUE(server_.deliveries().empty());
  clock_.Advance(kLeft - kWindow);
  ASSERT_TRUE(Eventually([&] { return server_.applied_outcomes().size() == 2; }));
  std::multiset<double> rewards;
  for (const v1::Outcome& outcome : server_.applied_outcomes()) {
    ASSERT_TRUE(outcome.has_reward());
    rewards.insert(outcome.reward());
  }
  EXPECT_EQ(rewards, (std::multiset<double>{0.25, 1}));
}

// Finding C2: the rank that leaves in clear is the decision's, whether there was a reaction or not.
TEST_F(ClientWindowTest, TheRankIsNamedAtTheDecision) {
  const auto client = MustConnect();
  const auto first = client->Select("u", Arms::Inline(kArms), {2, 1});
  const auto second = client->Select("u", Arms::Inline(kArms), {2, 1});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(client->Report(*first, 1.0, 0),
              StatusIs(absl::StatusCode::kInvalidArgument, "shown must be 1"));
  EXPECT_THAT(client->Report(*first, 1.0, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, "shown must be in [0, 2)"));
  ASSERT_THAT(client->Report(*first, 1.0), IsOk());
  for (const Ranks& ranks : {Ranks(2, 2), Ranks(2, -1), Ranks(1, 1)}) {
    EXPECT_THAT(client->Select("u", Arms::Inline(kArms), ranks),
                StatusIs(absl::StatusCode::kInvalidArgument, "ranks.shown"));
  }
  // As many ranks as there are arms.
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms), {5, 3}),
              StatusIs(absl::StatusCode::kInvalidArgument, "below the number of arms"));
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 2; }));
  for (const auto& report : server_.applied_reports()) EXPECT_EQ(report.shown(), 1);
}

// Finding C4: what a server learns by changing the policy under open windows.
TEST_F(ClientWindowTest, AfterAPolicyChangeReactionsDoNotArriveAlone) {
  const auto client = MustConnect();
  const Selection first = SelectOne(*client);
  clock_.Advance(kWindow / 2);
  std::vector<Selection> open;
  for (int i = 0; i < 6; ++i) open.push_back(SelectOne(*client));
  for (int i = 0; i < 3; ++i) ASSERT_THAT(client->Report(open[i], 1.0), IsOk());
  server_.SetSpec(WindowSpec(kWindow, 0.5));
  clock_.Advance(kLeft - kWindow / 2);
  // The first report meets the other policy: from then on the client draws nothing.
  ASSERT_TRUE(Eventually([&] { return !client->Report(first, 1.0).ok(); }));
  const auto arrived = server_.deliveries().size();
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_rejected == 7; }));
  EXPECT_EQ(server_.deliveries().size(), arrived);
  EXPECT_TRUE(server_.applied_reports().empty());
}

// Finding M1: after a long sleep reports leave in the order of their due times.
TEST_F(ClientWindowTest, CatchingUpDoesNotSendReactionsFirst) {
  const auto client = MustConnect(/*queue_reports_max=*/1000);
  std::vector<Selection> open;
  for (int i = 0; i < 600; ++i) {
    open.push_back(SelectOne(*client));
    clock_.Advance(absl::Milliseconds(5));
  }
  for (int i = 0; i < 600; i += 2) ASSERT_THAT(client->Report(open[i], 1.0), IsOk());
  clock_.Advance(absl::Seconds(200));
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 600; }));
  // The first 256 mix decisions with and without a reaction. The bound fails by chance with
  // probability 1e-8 (Hoeffding, without replacement).
  const auto reports = server_.applied_reports();
  int reacted = 0;
  for (int i = 0; i < 256; ++i) {
    const int number = std::stoi(reports[i].token().substr(std::string("token-").size()));
    reacted += number % 2;  // tokens are numbered from 1
  }
  EXPECT_GE(reacted, 128 - 50);
  EXPECT_LE(reacted, 128 + 50);
}

TEST_F(ClientWindowTest, LeavingTimeIsDrawnAtTheDecisionAndDoesNotMoveWithTheReport) {
  // Two decisions at the same time with different reports leave at times that only their own
  // jitter tells apart: reported or not, none before its due time, all after the longest.
  const auto client = MustConnect();
  std::vector<Selection> selections;
  for (int i = 0; i < 60; ++i) selections.push_back(SelectOne(*client));
  for (int i = 0; i < 30; ++i) {
    ASSERT_THAT(client->Report(selections[2 * i], i % 2 ? 1.0 : 0.0), IsOk());
  }
  clock_.Advance(kWindow + absl::Seconds(5) + kWindowGuard);  // half of the jitter
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_defaulted > 0; }));
  LetTheTimerLook();
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  int even = 0, odd = 0;
  for (const auto& report : server_.applied_reports()) {
    const int number = std::stoi(report.token().substr(std::string("token-").size()));
    (number % 2 ? even : odd) += 1;
  }
  // Each of 30 has left with probability one half, reported or not: all or none of a kind happens
  // with probability 2^-29.
  EXPECT_GE(even, 1);
  EXPECT_LE(even, 29);
  EXPECT_GE(odd, 1);
  EXPECT_LE(odd, 29);
  clock_.Advance(absl::Seconds(6));
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 60; }));
}

}  // namespace
}  // namespace bandana::device
