// The wall clock of a device is set: no window opens again, no decision is drawn or counted twice,
// and what is decided afterwards is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "client/core/monotone_clock.h"
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

class ClientClockTest : public ::testing::Test {
 protected:
  explicit ClientClockTest(const PublicSpec& spec = WindowSpec(kWindow, 0.0)) : server_(spec) {}

  std::unique_ptr<Client> MustConnect(ClientOptions::Leave leave = ClientOptions::Leave::kWhenDue) {
    ClientOptions options;
    options.target = server_.target();
    options.model = "fake";
    options.leave = leave;
    options.backoff_min = options.backoff_max = absl::Milliseconds(1);
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    Seams seams;
    seams.clock = &clock_;
    seams.recheck = absl::Milliseconds(2);
    auto client = Connect(options, *store, seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  static Selection SelectOne(Client& client) {
    auto selection = client.Select("u", Arms::Inline(kArms));
    EXPECT_THAT(selection, IsOk());
    return selection.value_or(Selection());
  }

  testing::TempDir folder_;
  FakeRecommender server_;
  FakeClock clock_;
};

TEST(MonotoneClockTest, FollowsForwardsAndNeverGoesBack) {
  FakeClock wall;
  const absl::Time start = wall.Now();
  MonotoneClock clock(wall, {});
  EXPECT_EQ(clock.Now(), start);
  wall.Advance(absl::Hours(1));
  EXPECT_EQ(clock.Now(), start + absl::Hours(1));
  wall.Set(start);
  EXPECT_EQ(clock.Peek(), start + absl::Hours(1));
  EXPECT_EQ(clock.Now(), start + absl::Hours(1));
  wall.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.Now(), start + absl::Hours(1) + absl::Seconds(5));
  EXPECT_FALSE(clock.went_back());
  wall.Set(start - absl::Hours(1000));
  MonotoneClock next(wall, clock.state());
  EXPECT_TRUE(next.went_back());
  EXPECT_EQ(next.Now(), start + absl::Hours(1) + absl::Seconds(5));
}

// Each jump lasts for ten seconds in which decisions are made.
TEST_F(ClientClockTest, DecisionsAfterAJumpAreReportedOnce) {
  std::uint64_t decisions = 0;
  for (const bool restart : {false, true}) {
    for (const absl::Duration jump : {absl::Hours(1), absl::Hours(48), absl::Hours(24 * 365),
                                      -absl::Hours(1), -absl::Hours(24 * 365)}) {
      auto client = MustConnect();
      SelectOne(*client);
      clock_.Advance(jump);
      if (restart) {
        client.reset();
        client = MustConnect();
      }
      SelectOne(*client);
      clock_.Advance(absl::Seconds(10) - jump);
      if (restart) {
        client.reset();
        client = MustConnect();
      }
      SelectOne(*client);
      decisions += 3;
      clock_.Advance(kLeft);
      EXPECT_TRUE(Eventually([&] { return server_.applied_reports().size() == decisions; }))
          << jump << (restart ? " with restart" : "") << ": rejected "
          << client->Stats().reports_rejected << ", pending " << client->Stats().reports_pending
          << ", applied " << client->Stats().reports_applied << ", duplicate "
          << client->Stats().reports_duplicate;
    }
  }
  EXPECT_EQ(server_.applied_reports().size(), decisions);
}

TEST_F(ClientClockTest, AStartSendsAfterAJumpAsWell) {
  for (const absl::Duration jump : {absl::Hours(24 * 365), -absl::Hours(24 * 365)}) {
    const std::size_t before = server_.applied_reports().size();
    auto client = MustConnect(ClientOptions::Leave::kAtStart);
    clock_.Advance(jump);
    SelectOne(*client);
    clock_.Advance(absl::Seconds(10) - jump);
    SelectOne(*client);
    clock_.Advance(kLeft);
    client->Begin();
    EXPECT_TRUE(client->Flush(absl::Seconds(10)));
    // To the device a year may have passed since a decision made by a clock that was behind.
    const std::size_t overtaken = jump < absl::ZeroDuration() ? 1 : 0;
    EXPECT_EQ(client->Stats().reports_overtaken, overtaken);
    EXPECT_EQ(server_.applied_reports().size(), before + 2 - overtaken) << jump;
  }
}

TEST_F(ClientClockTest, AWindowThatIsOverStaysOver) {
  const auto client = MustConnect();
  const Selection selection = SelectOne(*client);
  clock_.Advance(kWindow);  // closed, not due
  Delivery late = Delivery::kApplied;
  // Another decision sees the time.
  SelectOne(*client);
  clock_.Advance(-kWindow);
  ASSERT_THAT(client->Report(selection, 1.0, 0, [&](Delivery d) { late = d; }), IsOk());
  EXPECT_EQ(late, Delivery::kExpired);
}

class RawClockTest : public ClientClockTest {
 protected:
  RawClockTest() : ClientClockTest(LocalSpec()) {}
};

// A report drawn by a clock that was ahead leaves with the next process, not in a year.
TEST_F(RawClockTest, ADrawnReportDoesNotWaitForTheClock) {
  clock_.Advance(absl::Hours(24 * 365));
  {
    const auto client = MustConnect();
    server_.FailDelivery(
        {.kind = testing::Fault::Kind::kHang, .status = absl::UnavailableError("no")});
    ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
    ASSERT_TRUE(Eventually([&] { return server_.deliveries().size() == 1; }));
  }
  server_.ReleaseHung();
  clock_.Advance(-absl::Hours(24 * 365));
  const auto client = MustConnect();
  EXPECT_TRUE(Eventually([&] { return client->Stats().reports_duplicate == 1; }));
  EXPECT_EQ(server_.applied_reports().size(), 1);
}

class ContextClockTest : public ClientClockTest {
 protected:
  ContextClockTest() : ClientClockTest(ContextModelSpec()) {
    v1::GetPosteriorResponse posterior;
    posterior.set_version(3);
    for (const double mean : {0.5, 0.1}) posterior.add_means(mean);
    for (const double entry : {1.0, 0.0, 1.0}) posterior.add_covariances(entry);
    posterior.add_alphas(1);
    server_.SetPosterior(posterior);
  }
};

// The server knows a report by its id for token_lifetime. By a clock that was set back while no
// process ran, nobody can say that it still does.
TEST_F(ContextClockTest, AReportOfUnknownAgeIsNotSentAgain) {
  {
    const auto client = MustConnect();
    server_.FailDelivery(
        {.kind = testing::Fault::Kind::kHang, .status = absl::UnavailableError("no")});
    ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
    ASSERT_TRUE(Eventually([&] { return server_.deliveries().size() == 1; }));
  }
  server_.ReleaseHung();
  clock_.Advance(-absl::Hours(1));
  const auto client = MustConnect();
  EXPECT_TRUE(Eventually([&] { return client->Stats().reports_expired == 1; }));
  EXPECT_EQ(server_.deliveries().size(), 1);
  ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
  EXPECT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
}

}  // namespace
}  // namespace bandana::device
