// Signals that the kernel gives to a thread which knows nothing of them.
#include "server/ops/stop_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "absl/time/clock.h"

namespace bandana::server {
namespace {

// The library's thread is here before the object, so that it blocks nothing.
TEST(StopSignalsTest, ReachWhoeverAsksWhateverThreadTheyWereGiven) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) absl::SleepFor(absl::Milliseconds(1));
  });
  StopSignals signals;
  EXPECT_EQ(signals.Wait(absl::Milliseconds(10)), 0);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) {
    ASSERT_EQ(::pthread_kill(other.native_handle(), signal), 0);
    EXPECT_EQ(signals.Wait(absl::InfiniteDuration()), signal);
    ASSERT_EQ(::kill(::getpid(), signal), 0);
    EXPECT_EQ(signals.Wait(absl::InfiniteDuration()), signal);
  }
  // The thread that asks blocks them but for the moment in which it waits.
  ASSERT_EQ(::pthread_kill(::pthread_self(), SIGHUP), 0);
  EXPECT_EQ(signals.Wait(absl::InfiniteDuration()), SIGHUP);
  ASSERT_EQ(::pthread_kill(::pthread_self(), SIGHUP), 0);
  signals.WaitForStop(absl::Milliseconds(10));
  EXPECT_EQ(signals.Wait(absl::ZeroDuration()), 0);  // dropped
  ASSERT_EQ(::pthread_kill(::pthread_self(), SIGTERM), 0);
  signals.WaitForStop(absl::InfiniteDuration());
  done = true;
  other.join();
}

}  // namespace
}  // namespace bandana::server
