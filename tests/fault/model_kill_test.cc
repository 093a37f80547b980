// A child process hosts a model and writes each acknowledged decision to a pipe; it is killed in
// the middle, again and again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

constexpr int kCycles = 10;
constexpr int kInFlight = 16;

ModelSpec SpecUnderTest() {
  // Checkpoints as often as possible, so that kills hit them too.
  return IndependentSpec("checkpoint { events: 40 }");
}

std::string UserOf(std::uint64_t number) { return "user" + std::to_string(number % 7); }

// A decision's token carries its time: whoever repeats a report repeats the time. The children
// inherit it.
const absl::Time kDecided = absl::Now();

Decision Decide(const HostedModel& model, std::uint64_t number) {
  Decision decision = DecisionOf(model, SystemClock(), number, {0.6, 0.8}, UserOf(number));
  decision.time = kDecided;
  return decision;
}

// Never returns: reports from `first` on until it is killed. One write a number: whole up to
// PIPE_BUF.
[[noreturn]] void RunChild(const std::string& folder, std::uint64_t first, int pipe) {
  auto opened = HostedModel::Open(SpecUnderTest(), folder, SystemClock());
  if (!opened.ok()) _exit(3);
  HostedModel& model = **opened;
  std::atomic<int> in_flight{0};
  for (std::uint64_t number = first;; ++number) {
    while (in_flight.load() >= kInFlight) std::this_thread::yield();
    ++in_flight;
    const auto decision = Decide(model, number);
    model.Report({{.decision = decision, .reward = 1}}, [&in_flight, pipe, number](auto results) {
      if (!results.ok() || results->front().code != v1::APPLIED) _exit(4);
      if (::write(pipe, &number, sizeof number) != sizeof number) _exit(5);
      --in_flight;
    });
  }
}

// Numbers acknowledged by a child that lived until it had acknowledged `enough`, and then was
// killed.
std::vector<std::uint64_t> RunAndKill(const std::string& folder, std::uint64_t first, int enough) {
  int fds[2];
  EXPECT_EQ(::pipe(fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(fds[0]);
    RunChild(folder, first, fds[1]);
  }
  ::close(fds[1]);
  std::vector<std::uint64_t> acknowledged;
  std::uint64_t number = 0;
  while (::read(fds[0], &number, sizeof number) == sizeof number) {
    acknowledged.push_back(number);
    if (static_cast<int>(acknowledged.size()) == enough) ::kill(child, SIGKILL);
  }
  ::close(fds[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, code " << WEXITSTATUS(status);
  return acknowledged;
}

TEST(ModelKillTest, AcknowledgedReportsArePresentExactlyOnceAfterKills) {
  const TempDir folder;
  TestRng rng(7);
  std::set<std::uint64_t> acknowledged;
  std::uint64_t first = 0;
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    SCOPED_TRACE(cycle);
    const auto numbers = RunAndKill(folder.path(), first, 20 + rng.Index(200));
    ASSERT_FALSE(numbers.empty());
    acknowledged.insert(numbers.begin(), numbers.end());

    // No thread of this may live when the next child is forked.
    auto model = HostedModel::Open(SpecUnderTest(), folder.path(), SystemClock());
    ASSERT_THAT(model, IsOk());
    const v1::GetStatsResponse stats = (*model)->Stats();
    std::uint64_t events = 0;
    for (const NodeStatistics& s : StatisticsOf(**model)) events += s.events;
    // Some may be durable whose acknowledgement did not get out; at most what was in flight a
    // cycle.
    EXPECT_EQ(stats.reports_applied(), events);
    EXPECT_GE(events, acknowledged.size());
    EXPECT_LE(events, acknowledged.size() + kInFlight * (cycle + 1));
    for (const std::uint64_t number : numbers) {
      const auto decision = Decide(**model, number);
      ASSERT_EQ(CodeOf(ReportOne(**model, decision, 1)), v1::DUPLICATE) << number;
    }
    first = numbers.back() + 10 * kInFlight;  // beyond everything that was in flight
  }
}

}  // namespace
}  // namespace bandana::testing
