// The time that a model goes by, against a wall clock that is wrong.
#include "server/models/log_clock.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace bandana::testing {
namespace {

using server::LogClock;

class LogClockTest : public ::testing::Test {
 protected:
  // A log whose newest time is so far from now.
  void Begin(absl::Duration newest, absl::Duration ahead = absl::ZeroDuration()) {
    log_.Begin(clock_.Now() + newest, ahead);
  }
  absl::Duration Ahead() const { return log_.Now() - clock_.Now(); }

  FakeClock clock_;
  LogClock log_{clock_, absl::Hours(168)};
};

TEST_F(LogClockTest, IsTheClocksWhereTheLogIsOfThePast) {
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
  Begin(-absl::Hours(100));
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
  clock_.Advance(absl::Hours(1000));
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
  EXPECT_EQ(log_.Disbelieved(), absl::ZeroDuration());
}

TEST_F(LogClockTest, ALogThatTellsNoTimeIsNotFarBehind) {
  log_.Begin(absl::UnixEpoch(), absl::ZeroDuration());
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
  EXPECT_EQ(log_.Disbelieved(), absl::ZeroDuration());
}

TEST_F(LogClockTest, RunsOnFromATimeOfTheFuture) {
  Begin(absl::Hours(24 * 365));
  EXPECT_EQ(Ahead(), absl::Hours(24 * 365));
  EXPECT_EQ(log_.ahead(), absl::Hours(24 * 365));
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Ahead(), absl::Hours(24 * 365));
  EXPECT_EQ(log_.Disbelieved(), absl::ZeroDuration());
}

TEST_F(LogClockTest, TheNextStartGoesOnWithTheTimeBetween) {
  Begin(absl::Hours(50) - absl::Minutes(90), absl::Hours(50));
  EXPECT_EQ(Ahead(), absl::Hours(50));
}

TEST_F(LogClockTest, NeverGoesBack) {
  Begin(-absl::Minutes(5));
  const absl::Time before = log_.Now();
  clock_.Jump(-absl::Hours(1));
  EXPECT_EQ(log_.Now(), before);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(log_.Now(), before + absl::Seconds(10));
  EXPECT_EQ(log_.ahead(), absl::Hours(1));
  // A clock that was behind and is right again brings both together.
  clock_.Jump(absl::Hours(1));
  EXPECT_EQ(log_.Now(), before + absl::Seconds(10));
  EXPECT_EQ(log_.ahead(), absl::ZeroDuration());
}

TEST_F(LogClockTest, FollowsAJumpAheadThatIsNotTooFar) {
  Begin(-absl::Minutes(5));
  clock_.Jump(absl::Hours(167));
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
}

TEST_F(LogClockTest, DoubtsAClockThatIsFarAheadUntilItIsConfirmed) {
  Begin(-absl::Hours(24 * 365));
  EXPECT_EQ(Ahead(), -absl::Hours(24 * 365));
  clock_.Advance(absl::Hours(300));
  EXPECT_EQ(Ahead(), -absl::Hours(24 * 365));
  EXPECT_EQ(log_.Disbelieved(), absl::Hours(24 * 365));
  log_.Believe();
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
  EXPECT_EQ(log_.Disbelieved(), absl::ZeroDuration());
}

TEST_F(LogClockTest, TheWordOfAnotherServerIsTheTimeThatItWroteIntoTheLog) {
  Begin(-absl::Hours(24 * 365));
  log_.Reach(clock_.Now() - absl::Minutes(1));
  EXPECT_EQ(log_.Disbelieved(), absl::ZeroDuration());
  EXPECT_EQ(Ahead(), absl::ZeroDuration());
}

TEST_F(LogClockTest, IsNotBeforeWhatTheLogHasReached) {
  Begin(-absl::Minutes(5));
  log_.Reach(clock_.Now() + absl::Hours(3));
  EXPECT_EQ(Ahead(), absl::Hours(3));
  EXPECT_EQ(log_.ahead(), absl::Hours(3));
}

}  // namespace
}  // namespace bandana::testing
