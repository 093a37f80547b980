// A wall clock that jumps, and what is believed of it.
#include "common/base/checked_clock.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace bandana::testing {
namespace {

class CheckedClockTest : public ::testing::Test {
 protected:
  // How far Now() is from the time that has passed.
  absl::Duration Off() const { return checked_.Now() - (start_ + (clock_.Steady() - steady_)); }
  // In steps, as a server looks at it.
  void Pass(absl::Duration time) {
    for (absl::Duration passed; passed < time; passed += absl::Seconds(1)) {
      clock_.Advance(absl::Seconds(1));
      checked_.Now();
    }
  }

  FakeClock clock_;
  const absl::Time start_ = clock_.Now();
  const absl::Time steady_ = clock_.Steady();
  const CheckedClock checked_{clock_};
};

TEST_F(CheckedClockTest, RunsWithTheWallClock) {
  Pass(absl::Hours(1));
  EXPECT_EQ(checked_.Now(), clock_.Now());
  EXPECT_EQ(checked_.Disbelieved(), absl::ZeroDuration());
}

TEST_F(CheckedClockTest, DoesNotBelieveAJumpOfTenSeconds) {
  for (const absl::Duration by :
       {absl::Hours(1), absl::Hours(48), absl::Hours(24 * 365), -absl::Hours(1)}) {
    SCOPED_TRACE(by);
    clock_.Jump(by);
    EXPECT_EQ(Off(), absl::ZeroDuration());
    EXPECT_EQ(checked_.Disbelieved(), by);
    Pass(absl::Seconds(10));
    EXPECT_EQ(Off(), absl::ZeroDuration());
    clock_.Jump(-by);
    EXPECT_EQ(Off(), absl::ZeroDuration());
    EXPECT_EQ(checked_.Disbelieved(), absl::ZeroDuration());
  }
}

TEST_F(CheckedClockTest, BelievesAClockThatStays) {
  for (const absl::Duration by : {absl::Hours(1), -absl::Hours(2)}) {
    const absl::Duration before = Off();
    clock_.Jump(by);
    Pass(CheckedClock::kBelievedAfter - absl::Seconds(1));
    EXPECT_EQ(Off(), before);
    Pass(absl::Seconds(2));
    EXPECT_EQ(Off(), before + by);
    EXPECT_EQ(checked_.Disbelieved(), absl::ZeroDuration());
  }
}

TEST_F(CheckedClockTest, AClockThatJumpsAgainWaitsAgain) {
  clock_.Jump(absl::Hours(1));
  Pass(CheckedClock::kBelievedAfter - absl::Seconds(5));
  clock_.Jump(absl::Hours(1));
  Pass(absl::Seconds(60));
  EXPECT_EQ(Off(), absl::ZeroDuration());
  EXPECT_EQ(checked_.Disbelieved(), absl::Hours(2));
}

TEST_F(CheckedClockTest, BelievesAnOperator) {
  clock_.Jump(absl::Hours(24 * 365));
  EXPECT_EQ(Off(), absl::ZeroDuration());
  checked_.Believe();
  EXPECT_EQ(Off(), absl::Hours(24 * 365));
}

TEST_F(CheckedClockTest, FollowsSmallAdjustmentsByASecondInTen) {
  for (int i = 0; i < 30; ++i) {
    clock_.Jump(absl::Milliseconds(50));
    Pass(absl::Seconds(1));
  }
  EXPECT_LE(absl::AbsDuration(checked_.Now() - clock_.Now()), absl::Milliseconds(500));
  // A clock that runs twice as fast is not followed: it is taken for jumps that go on.
  const absl::Duration before = Off();
  for (int i = 0; i < 1000; ++i) {
    clock_.Jump(absl::Seconds(1));
    Pass(absl::Seconds(1));
  }
  EXPECT_LE(Off() - before, absl::Seconds(101));
}

TEST_F(CheckedClockTest, ASleepOfTheMachineIsNoJump) {
  clock_.Advance(absl::Hours(9));
  EXPECT_EQ(Off(), absl::ZeroDuration());
  EXPECT_EQ(checked_.Disbelieved(), absl::ZeroDuration());
}

TEST(SteadyNow, GoesOn) {
  const absl::Time before = SteadyNow();
  EXPECT_GE(SteadyNow(), before);
  EXPECT_EQ(SystemClock().Disbelieved(), absl::ZeroDuration());
}

}  // namespace
}  // namespace bandana::testing
