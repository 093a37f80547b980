// Several arms of one decision: paid for together or not at all, and each reported once, at a time
// that no reaction moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bandana/client.h"
#include "client/core/handle.h"
#include "client/src/seams.h"
#include "client/src/store/store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1, 0.6, 0.8};
constexpr absl::Duration kWindow = absl::Seconds(80);
// Close, guard and the longest jitter.
constexpr absl::Duration kLeft = absl::Seconds(80 + 10 + 1);

// Draws from the default whatever is held: what is left to differ is all but the draw.
class Blind final : public EventMechanism {
 public:
  explicit Blind(std::unique_ptr<EventMechanism> own) : own_(std::move(own)) {}
  const EventTraits& traits() const override { return own_->traits(); }
  SecretBytes Hold(std::optional<double> reward,
                   const std::optional<RewardRange>& window) const override {
    return own_->Hold(reward, window);
  }
  absl::Status Debit(Store::Transaction& transaction, const std::string& user,
                     int events) const override {
    return own_->Debit(transaction, user, events);
  }
  absl::Status MayDebit(Store::Transaction& transaction, const std::string& user,
                        int events) const override {
    return own_->MayDebit(transaction, user, events);
  }
  absl::StatusOr<device::Release> Release(Store::Transaction& transaction, ReportRow& row,
                                          const SecretBytes&, const Draw& draw) const override {
    return own_->Release(transaction, row, own_->Hold(std::nullopt, std::nullopt), draw);
  }

 private:
  const std::unique_ptr<EventMechanism> own_;
};

class ClientSlotsTest : public ::testing::Test {
 protected:
  ClientSlotsTest() : server_(WindowSpec(kWindow, 0.0)) {}

  absl::StatusOr<std::unique_ptr<Client>> TryConnect(const FakeRecommender& server,
                                                     std::shared_ptr<DeviceStore> store,
                                                     BitSource& bits = SystemBits()) {
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    options.policy = PrivacyPolicy::AcceptAnything();
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    options.queue_reports_max = queue_reports_max_;
    Seams seams;
    seams.clock = &clock_;
    seams.bits = &bits;
    seams.recheck = absl::Milliseconds(2);
    if (blind_) {
      seams.wrap_mechanism = [](std::unique_ptr<EventMechanism> own) {
        return std::make_unique<Blind>(std::move(own));
      };
    }
    return Connect(options, std::move(store), seams);
  }
  std::unique_ptr<Client> MustConnect() {
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    auto client = TryConnect(server_, *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  static std::vector<Selection> SelectSlots(Client& client, int slots) {
    auto selections = client.SelectSlots("u", Arms::Inline(kArms), slots);
    EXPECT_THAT(selections, IsOk());
    return selections.value_or(std::vector<Selection>());
  }
  static DecisionNumber NumberOf(const Selection& selection) {
    return DecodeHandle(selection.handle).value_or(Handle()).number;
  }
  // Long enough for several rechecks of the timer.
  static void LetTheTimerLook() { absl::SleepFor(absl::Milliseconds(30)); }

  TempDir folder_;
  FakeRecommender server_;
  FakeClock clock_;
  int queue_reports_max_ = 100;
  bool blind_ = false;
};

TEST_F(ClientSlotsTest, EachSlotIsAnEventWithAnArmAndARewardOfItsOwn) {
  const auto client = MustConnect();
  const std::vector<Selection> slots = SelectSlots(*client, 3);
  ASSERT_THAT(slots, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(slots[i].arms, SizeIs(1));
    EXPECT_EQ(slots[i].arms[0].position, i);
  }
  EXPECT_EQ(client->Spent("u")->events, 3);
  EXPECT_EQ(client->Spent("u")->epsilon_user, 3);
  EXPECT_EQ(client->Stats().reports_pending, 3);
  v1::SelectRequest sent;
  ASSERT_THAT(server_.selects(), SizeIs(1));
  ASSERT_TRUE(sent.ParseFromString(server_.selects()[0]));
  EXPECT_EQ(sent.slots(), 3);
  EXPECT_EQ(sent.top_k(), 0);
  EXPECT_FALSE(sent.deferred());

  ASSERT_THAT(client->Report(slots[1], 1.0), IsOk());
  EXPECT_THAT(client->Report(slots[1], 1.0, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "shown must be in [0, 1)"));
  clock_.Advance(kWindow);
  LetTheTimerLook();
  EXPECT_THAT(server_.deliveries(), IsEmpty());
  clock_.Advance(kLeft - kWindow);
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 3; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(server_.deliveries(), SizeIs(1));  // at one time
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(server_.applied_reports()[i].token(), "token-" + std::to_string(i + 1));
  }
  EXPECT_EQ(client->Stats().selections, 3);
  EXPECT_EQ(client->Stats().reports_defaulted, 2);
  EXPECT_EQ(client->Spent("u")->events, 3);
}

// Bytes, order and number of what leaves, and when it is due, for every set of slots that had a
// reaction. The mechanism's draw alone, which is left out, depends on it.
TEST_F(ClientSlotsTest, WhatLeavesIsTheSameWhateverTheReactions) {
  blind_ = true;
  std::vector<std::string> first;
  for (int reacted = 0; reacted < 8; ++reacted) {
    FakeRecommender server(WindowSpec(kWindow, 0.0));
    SeededBits bits(7);
    TempDir folder;
    auto file = DeviceStore::Open(folder.File("device.db"));
    ASSERT_THAT(file, IsOk());
    auto& rows = static_cast<Store&>(**file);
    auto client = TryConnect(server, *file, bits);
    ASSERT_THAT(client, IsOk());
    const std::vector<Selection> slots = SelectSlots(**client, 3);
    ASSERT_THAT(slots, SizeIs(3));
    const auto due = [&] {
      std::vector<absl::Time> times;
      EXPECT_THAT(rows.Run([&](Store::Transaction& transaction) {
        for (const Selection& slot : slots) {
          const auto row = transaction.tables.reports().Find(NumberOf(slot));
          if (row) times.insert(times.end(), {row->due_at, row->wake_at, row->opening.close});
        }
        return absl::OkStatus();
      }),
                  IsOk());
      return times;
    };
    const std::vector<absl::Time> before = due();
    ASSERT_THAT(before, SizeIs(9));
    for (int i = 3; i < 9; ++i) EXPECT_EQ(before[i], before[i % 3]);  // one schedule
    // The last slot first: the order of reactions tells nothing either.
    for (int i = 2; i >= 0; --i) {
      clock_.Advance(absl::Seconds(1));
      if ((reacted >> i & 1) == 1) {
        ASSERT_THAT((*client)->Report(slots[i], 0.25 * i), IsOk());
      }
    }
    EXPECT_EQ(due(), before);
    clock_.Advance(kLeft);
    ASSERT_TRUE(Eventually([&] { return server.applied_reports().size() == 3; }));
    ASSERT_TRUE((*client)->Flush(absl::Seconds(10)));
    std::vector<std::string> left;
    for (const auto& delivery : server.deliveries()) left.push_back(delivery.bytes);
    EXPECT_THAT(left, SizeIs(1));
    if (reacted == 0) first = left;
    EXPECT_EQ(left, first) << reacted;
    EXPECT_EQ((*client)->Spent("u")->events, 3);
  }
}

TEST_F(ClientSlotsTest, WithTooFewEventsLeftNothingIsSentOrDebited) {
  PublicSpec spec = WindowSpec(kWindow, 0.0);
  spec.events_per_user_max = 4;
  server_.SetSpec(spec);
  const auto client = MustConnect();
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 5),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the user has 4 events left, and the decision is 5"));
  SelectSlots(*client, 3);
  ASSERT_THAT(server_.selects(), SizeIs(1));
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 2),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the user has 1 events left, and the decision is 2"));
  EXPECT_THAT(server_.selects(), SizeIs(1));
  EXPECT_EQ(client->Spent("u")->events, 3);
  EXPECT_EQ(client->Stats().reports_pending, 3);
  SelectSlots(*client, 1);
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 1),
              StatusIs(absl::StatusCode::kResourceExhausted, "events_per_user_max is 4"));
  EXPECT_THAT(server_.selects(), SizeIs(2));
  EXPECT_EQ(client->Spent("u")->events, 4);
}

TEST_F(ClientSlotsTest, PlacesInTheQueueAreTakenTogetherAndGivenBack) {
  queue_reports_max_ = 4;
  const auto client = MustConnect();
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 5),
              StatusIs(absl::StatusCode::kResourceExhausted, "queue is full"));
  EXPECT_THAT(server_.selects(), IsEmpty());
  server_.FailSelect({Fault::Kind::kRefuse, absl::NotFoundError("user")});
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 3),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(client->Spent("u")->events, 0);
  SelectSlots(*client, 3);
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 2),
              StatusIs(absl::StatusCode::kResourceExhausted, "queue is full"));
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 3; }));
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

TEST_F(ClientSlotsTest, OpenSlotsSurviveARestart) {
  std::vector<Selection> slots;
  {
    const auto client = MustConnect();
    slots = SelectSlots(*client, 3);
    ASSERT_THAT(slots, SizeIs(3));
    ASSERT_THAT(client->Report(slots[0], 1.0), IsOk());
  }
  const auto client = MustConnect();
  EXPECT_EQ(client->Stats().reports_pending, 3);
  ASSERT_THAT(client->Report(slots[2], 1.0), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] { return server_.applied_reports().size() == 3; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
  EXPECT_EQ(client->Spent("u")->events, 3);
}

TEST_F(ClientSlotsTest, WhatWasDrawnIsSentAgainUnchangedAfterARestart) {
  std::vector<std::string> before;
  {
    const auto client = MustConnect();
    SelectSlots(*client, 3);
    // Taken by the server, but the client never learns of it.
    server_.FailDelivery({Fault::Kind::kHang, absl::UnavailableError("lost")});
    clock_.Advance(kLeft);
    ASSERT_TRUE(Eventually([&] { return server_.deliveries().size() == 1; }));
    before = server_.deliveries()[0].reports;
    ASSERT_THAT(before, SizeIs(3));
  }
  server_.ReleaseHung();
  const auto client = MustConnect();
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_duplicate == 3; }));
  ASSERT_THAT(server_.deliveries(), SizeIs(2));
  EXPECT_EQ(server_.deliveries()[1].reports, before);
  EXPECT_THAT(server_.applied_reports(), SizeIs(3));
  EXPECT_EQ(client->Spent("u")->events, 3);
}

TEST_F(ClientSlotsTest, ACounterTakesAStepPerSlotInTheirOrder) {
  PublicSpec spec = CounterModelSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{kWindow, 0.0};
  server_.SetSpec(spec);
  const auto client = MustConnect();
  const std::vector<Selection> slots = SelectSlots(*client, 3);
  ASSERT_THAT(slots, SizeIs(3));
  ASSERT_THAT(client->Report(slots[2], 1.0), IsOk());
  clock_.Advance(kLeft);
  ASSERT_TRUE(Eventually([&] {
    const auto streams = server_.streams();
    return streams.size() == 1 && streams.begin()->second.step == 3;
  }));
  EXPECT_THAT(server_.streams().begin()->second.tokens,
              ElementsAre("token-1", "token-2", "token-3"));
  EXPECT_EQ(client->Spent("u")->events, 3);
  EXPECT_EQ(client->Spent("u")->streams, 1);
}

TEST_F(ClientSlotsTest, ACentredSlotIsRandomizedInItsOwnWindow) {
  PublicSpec spec = WindowSpec(kWindow, 0.0);
  spec.mechanism = MechanismId::kCentredRandomizer;
  server_.SetSpec(spec);
  server_.SetWindow({0.25, 0.5});
  const auto client = MustConnect();
  const std::vector<Selection> slots = SelectSlots(*client, 2);
  ASSERT_THAT(slots, SizeIs(2));
  for (int i = 0; i < 2; ++i) {
    const auto window = WindowOf(DecodeHandle(slots[i].handle)->windows, 0);
    ASSERT_TRUE(window.has_value());
    EXPECT_EQ(window->min, 0.25 + 0.125 * i);
    EXPECT_EQ(window->max, 0.5 + 0.125 * i);
  }
}

TEST_F(ClientSlotsTest, WithoutPrivacyRewardsLeaveAtOnce) {
  server_.SetSpec(RawSpec());
  const auto client = MustConnect();
  const std::vector<Selection> slots = SelectSlots(*client, 2);
  ASSERT_THAT(slots, SizeIs(2));
  ASSERT_THAT(client->Report(slots[1], 0.5), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_THAT(server_.applied_outcomes(), SizeIs(1));
  EXPECT_EQ(server_.applied_outcomes()[0].token(), "token-2");
}

TEST_F(ClientSlotsTest, AreRefusedWhereTheDecisionIsTheUnitOrNothingWouldReportThem) {
  PublicSpec context = ContextModelSpec();
  context.one_per_decision = false;
  context.reward_window = RewardWindowSpec{kWindow, 0.0};
  const std::pair<PublicSpec, absl::StatusCode> refused[] = {
      {context, absl::StatusCode::kInvalidArgument},
      {LocalSpec(), absl::StatusCode::kFailedPrecondition}};
  for (const auto& [spec, code] : refused) {
    FakeRecommender server(spec);
    auto store = DeviceStore::Open(folder_.File(absl::StatusCodeToString(code)));
    ASSERT_THAT(store, IsOk());
    const auto client = TryConnect(server, *store);
    ASSERT_THAT(client, IsOk());
    EXPECT_THAT((*client)->SelectSlots("u", Arms::Inline(kArms), 2), StatusIs(code));
    EXPECT_THAT(server.selects(), IsEmpty());
    EXPECT_EQ((*client)->Spent("u")->events, 0);
  }
}

TEST_F(ClientSlotsTest, RefusesBadNumbersAndAnswersThatDoNotFit) {
  const auto client = MustConnect();
  for (const int slots : {-1, 0, 17}) {
    EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), slots),
                StatusIs(absl::StatusCode::kInvalidArgument, "slots must be in [1, 16]"));
  }
  EXPECT_THAT(server_.selects(), IsEmpty());
  // The fake one answers with as many slots as there are arms.
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 4),
              StatusIs(absl::StatusCode::kInternal, "does not fit the request"));
  EXPECT_EQ(client->Spent("u")->events, 0);
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

}  // namespace
}  // namespace bandana::device
