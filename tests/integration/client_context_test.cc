// Private contexts on the device: what leaves, when, once, and paid for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/src/seams.h"
#include "common/ranking/link.h"
#include "tests/support/failing_bits.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"
#include "tests/support/seeded_bits.h"
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

// Entries with long mantissas: no other bytes look like them.
const std::vector<double> kArms = {0.217346182937, 0.123456789123, 0.713749218371,
                                   0.318273645172, 0.512837461928, 0.391827364512};
constexpr double kReward = 0.618273645918;

class ClientContextTest : public ::testing::Test {
 protected:
  ClientOptions OptionsFor(const FakeRecommender& server) {
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    options.policy.delta_max = 1e-6;
    options.backoff_min = absl::Milliseconds(1);
    options.backoff_max = absl::Milliseconds(20);
    options.posterior_interval = absl::Milliseconds(20);
    return options;
  }
  std::unique_ptr<Client> MustConnect(const ClientOptions& options,
                                      const device::Seams& seams = {}) {
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    if (!store.ok()) return nullptr;
    auto client = device::Connect(options, *store, seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  std::unique_ptr<Client> MustConnect(const FakeRecommender& server) {
    return MustConnect(OptionsFor(server));
  }
  static bool Holds(const std::string& bytes, double value) {
    const std::string raw(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes.find(raw) != std::string::npos;
  }

  testing::TempDir folder_;
};

TEST_F(ClientContextTest, ASelectionMakesNoCallAndFollowsTheClocksPosterior) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(3, 1, 0));
  const auto client = MustConnect(server);
  EXPECT_TRUE(client->model().local);
  EXPECT_TRUE(client->model().local_context);
  auto selection = client->Select("u", Arms::Inline(kArms), 2);
  ASSERT_THAT(selection, IsOk());
  ASSERT_EQ(selection->arms.size(), 2);
  EXPECT_EQ(selection->arms[0].position, 1);
  EXPECT_EQ(selection->arms[1].position, 2);
  EXPECT_EQ(selection->posterior_version, 3);
  server.SetPosterior(Posterior(4, -1, 0));
  ASSERT_TRUE(Eventually([&] {
    selection = client->Select("u", Arms::Inline(kArms));
    return selection.ok() && selection->posterior_version == 4;
  }));
  EXPECT_EQ(selection->arms[0].position, 0);
  EXPECT_TRUE(server.selects().empty());
  for (const std::string& bytes : server.posterior_requests()) {
    v1::GetPosteriorRequest request;
    ASSERT_TRUE(request.ParseFromString(bytes));
    EXPECT_EQ(request.user(), "");
  }
}

TEST_F(ClientContextTest, ThePosteriorIsFetchedByTheClockAlone) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  ClientOptions options = OptionsFor(server);
  options.posterior_interval = absl::Hours(1);
  const auto client = MustConnect(options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward), IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_THAT(client->RefreshPosterior("u"), StatusIs(Code::kFailedPrecondition, "by the clock"));
  EXPECT_EQ(server.posterior_requests().size(), 1);
}

TEST_F(ClientContextTest, NoContextAndNoRewardIsInAnythingThatLeavesOrStays) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  {
    const auto client = MustConnect(server);
    for (int i = 0; i < 50; ++i) {
      ASSERT_THAT(client->Report(*client->Select("user-4711", Arms::Inline(kArms)), kReward),
                  IsOk());
    }
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  }
  ASSERT_EQ(server.applied_contexts().size(), 50);
  std::set<std::string> ids, seeds;
  for (const auto& delivered : server.deliveries()) {
    for (const double x : kArms) EXPECT_FALSE(Holds(delivered.bytes, x));
    EXPECT_FALSE(Holds(delivered.bytes, kReward));
    EXPECT_EQ(delivered.bytes.find("user-4711"), std::string::npos);
    v1::SubmitRequest request;
    ASSERT_TRUE(request.ParseFromString(delivered.bytes));
    EXPECT_EQ(request.reports_size() + request.counter_reports_size(), 0);
    for (const auto& report : request.context_reports()) {
      EXPECT_EQ(report.report_id().size(), 16);
      EXPECT_EQ(report.seed().size(), 16);
      EXPECT_EQ(report.values_size(), 0);
      EXPECT_EQ(report.epoch(), 1);
      ids.insert(report.report_id());
      seeds.insert(report.seed());
    }
  }
  EXPECT_EQ(ids.size(), 50);
  EXPECT_EQ(seeds.size(), 50);
  // Nor in the store once the draw is made: without a window it never was.
  std::ifstream file(folder_.File("device.db"), std::ios::binary);
  const std::string stored((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(stored.empty());
  for (const double x : kArms) EXPECT_FALSE(Holds(stored, x));
  EXPECT_FALSE(Holds(stored, kReward));
}

TEST_F(ClientContextTest, GaussianReportsAreIntegersThatFit) {
  const PublicSpec spec = ContextModelSpec(MechanismId::kJointGaussian);
  FakeRecommender server(spec);
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward), IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto mechanism = testing::ContextsOf(spec);
  ASSERT_EQ(server.applied_contexts().size(), 10);
  std::set<std::int64_t> firsts;
  for (const auto& report : server.applied_contexts()) {
    const std::vector<std::int64_t> values(report.values().begin(), report.values().end());
    EXPECT_TRUE(mechanism->Fits({report.seed(), values}));
    EXPECT_EQ(report.seed(), "");
    firsts.insert(values.front());
  }
  EXPECT_EQ(firsts.size(), 10);
  // Ten releases of rho each, at the model's delta.
  const auto spent = client->Spent("u");
  ASSERT_THAT(spent, IsOk());
  EXPECT_EQ(spent->epsilon_event, 1);
  EXPECT_EQ(spent->delta_event, 1e-6);
  EXPECT_EQ(spent->streams, 0);
  const double rho = mechanism->cost().rho->value;
  const double k = static_cast<double>(spent->events);
  EXPECT_GE(k, 10);
  // The conversion of k rho at delta lies below sqrt(4 k rho ln(1/delta)) + k rho.
  EXPECT_GT(spent->epsilon_user, 1);
  EXPECT_LT(spent->epsilon_user, std::sqrt(4 * k * rho * std::log(1e6)) + k * rho);
  const auto readings = client->Readings("u", 1e-6);
  ASSERT_THAT(readings, IsOk());
  EXPECT_FALSE(readings->epsilon_pure.has_value());
  EXPECT_TRUE(readings->epsilon_zcdp.has_value());
}

// A model of logistic rewards: what is drawn is the event made straight at the posterior that it
// was chosen by, bit for bit.
TEST_F(ClientContextTest, LogisticReportsAreOfTheStraightenedEvent) {
  for (const MechanismId kind : {MechanismId::kPrivUnit, MechanismId::kJointGaussian}) {
    PublicSpec spec = ContextModelSpec(kind);
    spec.link = Link::kLogistic;
    spec.context = testing::ContextsOf(spec)->spec();
    FakeRecommender server(spec);
    server.SetPosterior(Posterior(1, 1, 0.5));
    testing::SeededBits bits(7);
    device::Seams seams;
    seams.bits = &bits;
    const auto client = MustConnect(OptionsFor(server), seams);
    EXPECT_EQ(client->model().link, "logistic");
    // At rank 0 and at rank 1 in turn, rewarded by 1, by 0, by more than 1 and not at all.
    const std::optional<double> rewards[] = {1.0, 0.0, 7.0, std::nullopt};
    std::vector<StraightEvent> events;
    for (int i = 0; i < 4; ++i) {
      const auto selection = client->Select("u", Arms::Inline(kArms), 2);
      ASSERT_THAT(selection, IsOk());
      const RankedArm& arm = selection->arms[i % 2];
      const std::vector<double> x(&kArms[2 * arm.position], &kArms[2 * arm.position] + 2);
      const double logit = 4 * (x[0] + 0.5 * x[1]);  // the posterior's mean is theta / 4
      EXPECT_NEAR(arm.mean, 1 / (1 + std::exp(-logit)), 1e-12);
      events.push_back(
          Straighten(Link::kLogistic, x, rewards[i] ? std::min(*rewards[i], 1.0) : 0.0, logit));
      ASSERT_THAT(client->Report(*selection, rewards[i], i % 2), IsOk());
    }
    ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    const auto mechanism = testing::ContextsOf(spec);
    ASSERT_EQ(mechanism->statistic().reward_abs_max(), 0.5);
    testing::SeededBits same(7);
    std::map<std::string, std::string> expected;  // by report id
    for (const StraightEvent& event : events) {
      std::array<std::byte, 16> id{};
      ASSERT_THAT(same.Fill(id), IsOk());
      const ClippedStatistics phi =
          mechanism->statistic().Clip(RawInteraction(event.features, event.reward));
      v1::ContextReport report;
      report.set_report_id(std::string(AsChars(id)));
      report.set_epoch(1);
      const auto drawn = mechanism->Draw(phi, same);
      ASSERT_THAT(drawn, IsOk());
      if (kind == MechanismId::kPrivUnit) {
        report.set_seed(std::string(AsChars(std::get<PerturbedDirection>(*drawn).seed())));
      } else {
        const auto grid = std::get<PerturbedStatistics>(*drawn).grid();
        report.mutable_values()->Assign(grid.begin(), grid.end());
      }
      expected[report.report_id()] = report.SerializeAsString();
    }
    std::map<std::string, std::string> sent;
    for (const auto& report : server.applied_contexts()) {
      sent[report.report_id()] = report.SerializeAsString();
    }
    EXPECT_EQ(sent, expected);
  }
}

TEST_F(ClientContextTest, ARetrySendsTheSameBytes) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  server.FailDelivery({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
  server.FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("down")});
  Delivery delivery = Delivery::kDropped;
  ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward, 0,
                             [&](Delivery d) { delivery = d; }),
              IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  const auto deliveries = server.deliveries();
  ASSERT_EQ(deliveries.size(), 3);
  EXPECT_EQ(deliveries[0].bytes, deliveries[1].bytes);
  EXPECT_EQ(deliveries[0].bytes, deliveries[2].bytes);
  EXPECT_EQ(server.applied_contexts().size(), 1);
  EXPECT_EQ(delivery, Delivery::kDuplicate);
}

TEST_F(ClientContextTest, ADecisionIsDrawnOnceAndAcrossARestartSentUnchanged) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  Selection selection;
  std::string sent;
  {
    const auto client = MustConnect(server);
    selection = *client->Select("u", Arms::Inline(kArms));
    for (int i = 0; i < 50; ++i) {
      server.FailDelivery({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
    }
    ASSERT_THAT(client->Report(selection, kReward), IsOk());
    ASSERT_TRUE(Eventually([&] { return !server.deliveries().empty(); }));
    sent = server.deliveries()[0].reports[0];
  }
  const auto client = MustConnect(server);
  ASSERT_TRUE(client->Flush(absl::Seconds(20)));
  Delivery again = Delivery::kDropped;
  ASSERT_THAT(client->Report(selection, 0.0, 0, [&](Delivery d) { again = d; }), IsOk());
  EXPECT_EQ(again, Delivery::kDuplicate);
  for (const auto& delivery : server.deliveries()) EXPECT_THAT(delivery.reports, ElementsAre(sent));
  EXPECT_EQ(server.applied_contexts().size(), 1);
}

TEST_F(ClientContextTest, OnlyInlineArmsAreRankedAndHandlesAreChecked) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  const std::vector<std::uint32_t> ids = {1};
  EXPECT_THAT(client->Select("u", Arms::Catalogue(ids)),
              StatusIs(Code::kInvalidArgument, "inline"));
  EXPECT_THAT(client->Select("u", Arms::Query({})), StatusIs(Code::kInvalidArgument, "inline"));
  EXPECT_THAT(client->Select("", Arms::Inline(kArms)), StatusIs(Code::kInvalidArgument, "user"));
  const std::vector<double> bad = {1, 2, 3};  // d = 2
  EXPECT_THAT(client->Select("u", Arms::Inline(bad)), StatusIs(Code::kInvalidArgument));
  Selection selection = *client->Select("u", Arms::Inline(kArms));
  EXPECT_THAT(client->Report(selection, 1.0, 1), StatusIs(Code::kInvalidArgument, "shown"));
  selection.handle.resize(selection.handle.size() - 8);
  EXPECT_THAT(client->Report(selection, 1.0), StatusIs(Code::kInvalidArgument, "handle"));
}

TEST_F(ClientContextTest, EntropyThatFailsSendsNothingAndKeepsTheDebit) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  testing::FailingBits bits(20);
  device::Seams seams;
  seams.bits = &bits;
  const auto client = MustConnect(OptionsFor(server), seams);
  EXPECT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward),
              StatusIs(Code::kUnavailable));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_TRUE(server.deliveries().empty());
  EXPECT_GE(client->Spent("u")->events, 1);
}

TEST_F(ClientContextTest, TheBoundOnAUsersEventsHolds) {
  PublicSpec spec = ContextModelSpec();
  spec.events_per_user_max = 3;
  FakeRecommender server(spec);
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  int reported = 0;
  for (int i = 0; i < 5; ++i) {
    const auto selection = client->Select("u", Arms::Inline(kArms));
    if (selection.ok() && client->Report(*selection, kReward).ok()) ++reported;
  }
  EXPECT_EQ(reported, 3);
  EXPECT_THAT(client->Select("u", Arms::Inline(kArms)), StatusIs(Code::kResourceExhausted));
  ASSERT_THAT(client->Select("other", Arms::Inline(kArms)), IsOk());
  EXPECT_EQ(client->Spent("u")->epsilon_user, 3);
}

TEST_F(ClientContextTest, AfterAnotherEpochTheNextReportsCarryIt) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  server.SetEpoch(2);
  v1::OutcomeResult foreign;
  foreign.set_code(v1::REJECTED);
  foreign.set_reason(v1::TOKEN_FOREIGN);
  server.SetResult(foreign);
  Delivery delivery = Delivery::kApplied;
  ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward, 0,
                             [&](Delivery d) { delivery = d; }),
              IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(delivery, Delivery::kRejected);
  server.SetResult(std::nullopt);
  ASSERT_TRUE(Eventually([&] {
    EXPECT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward), IsOk());
    EXPECT_TRUE(client->Flush(absl::Seconds(10)));
    return server.applied_contexts().back().epoch() == 2;
  }));
}

TEST_F(ClientContextTest, AChangedModelIsNotReportedTo) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  PublicSpec weaker = ContextModelSpec();
  weaker.epsilon = {2};
  weaker.context = testing::ContextsOf(weaker)->spec();
  server.SetSpec(weaker);
  ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), kReward), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_rejected, 1);
  ASSERT_TRUE(Eventually([&] {
    return client->Select("u", Arms::Inline(kArms)).status().code() == Code::kFailedPrecondition;
  }));
  EXPECT_TRUE(server.applied_contexts().empty());
}

class ClientContextWindowTest : public ClientContextTest {
 protected:
  static PublicSpec Spec() {
    PublicSpec spec = ContextModelSpec();
    spec.one_per_decision = false;
    spec.reward_window = RewardWindowSpec{absl::Seconds(60), 0.25};
    return spec;
  }
};

TEST_F(ClientContextWindowTest, EveryDecisionLeavesOnceAfterItsWindowWhateverHappened) {
  FakeRecommender server(Spec());
  server.SetPosterior(Posterior(1, 1, 0));
  FakeClock clock;
  device::Seams seams;
  seams.clock = &clock;
  seams.recheck = absl::Milliseconds(2);
  const auto client = MustConnect(OptionsFor(server), seams);
  const Selection reported = *client->Select("u", Arms::Inline(kArms));
  ASSERT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());  // left alone
  ASSERT_THAT(client->Report(reported, kReward), IsOk());
  absl::SleepFor(absl::Milliseconds(30));
  EXPECT_TRUE(server.deliveries().empty());
  clock.Advance(absl::Seconds(70));
  ASSERT_TRUE(Eventually([&] { return server.applied_contexts().size() == 2; }));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
  EXPECT_EQ(client->Spent("u")->events, 2);
  for (const auto& delivered : server.deliveries()) EXPECT_FALSE(Holds(delivered.bytes, kReward));
}

TEST_F(ClientContextWindowTest, AReportThatCannotBeDeliveredExpiresBeforeTheServerForgets) {
  PublicSpec spec = Spec();
  spec.reward_window->duration = absl::Seconds(1);
  spec.token_lifetime = absl::Seconds(60);
  FakeRecommender server(spec);
  server.SetPosterior(Posterior(1, 1, 0));
  FakeClock clock;
  device::Seams seams;
  seams.clock = &clock;
  seams.recheck = absl::Milliseconds(2);
  const auto client = MustConnect(OptionsFor(server), seams);
  for (int i = 0; i < 2000; ++i) {
    server.FailDelivery({Fault::Kind::kLoseAnswer, absl::UnavailableError("lost")});
  }
  ASSERT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
  clock.Advance(absl::Seconds(2));
  ASSERT_TRUE(Eventually([&] { return !server.deliveries().empty(); }));
  clock.Advance(absl::Seconds(60));
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().reports_expired, 1);
}

// Finding C3: a server that ticks its epoch like a clock does not learn when a reaction came.
TEST_F(ClientContextTest, TheEpochOfAReportIsItsDecisions) {
  PublicSpec spec = ContextModelSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{.duration = absl::Seconds(80)};
  FakeRecommender server(spec);
  server.SetPosterior(Posterior(1, 1, 0));
  FakeClock clock;
  device::Seams seams;
  seams.clock = &clock;
  seams.recheck = absl::Milliseconds(2);
  const auto client = MustConnect(OptionsFor(server), seams);
  // One report to be refused, so that the device asks for the epoch in the middle of the others.
  ASSERT_THAT(client->Select("u", Arms::Inline(kArms)), IsOk());
  clock.Advance(absl::Seconds(60));
  std::vector<Selection> open;
  for (int i = 0; i < 6; ++i) open.push_back(*client->Select("u", Arms::Inline(kArms)));
  for (int i = 0; i < 3; ++i) ASSERT_THAT(client->Report(open[i], kReward), IsOk());
  v1::OutcomeResult foreign;
  foreign.set_code(v1::REJECTED);
  foreign.set_reason(v1::TOKEN_FOREIGN);
  server.SetResult(foreign);
  server.SetEpoch(2);
  const int asked = server.model_requests();
  clock.Advance(absl::Seconds(40));
  ASSERT_TRUE(Eventually([&] { return server.model_requests() > asked; }));
  server.SetResult(std::nullopt);
  clock.Advance(absl::Seconds(100));
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_pending == 0; }));
  std::set<std::uint64_t> epochs;
  int reports = 0;
  for (const auto& delivery : server.deliveries()) {
    for (const std::string& bytes : delivery.reports) {
      v1::ContextReport report;
      ASSERT_TRUE(report.ParseFromString(bytes));
      epochs.insert(report.epoch());
      ++reports;
    }
  }
  EXPECT_EQ(reports, 7);
  EXPECT_EQ(epochs.size(), 1) << "of the decisions, all made in one epoch";
}

// Finding M3: no feature, valid or not, decides whether there is an event.
TEST_F(ClientContextTest, FeaturesThatAreNotFiniteAreAnEventLikeAnyOther) {
  FakeRecommender server(ContextModelSpec());
  server.SetPosterior(Posterior(1, 1, 0));
  const auto client = MustConnect(server);
  const std::vector<double> arms = {std::nan(""), 1, HUGE_VAL, 0};
  const auto selection = client->Select("u", Arms::Inline(arms));
  ASSERT_THAT(selection, IsOk());
  ASSERT_THAT(client->Report(*selection, 1.0), IsOk());
  ASSERT_TRUE(Eventually([&] { return server.applied_contexts().size() == 1; }));
}

}  // namespace
}  // namespace bandana::testing
