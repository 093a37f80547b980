// A child process hosts models with counters that devices run; devices send their streams to it as
// they do, over whatever was not acknowledged, and it is killed in the middle, again and again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <future>
#include <string>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/model/learners/counter_sink.h"
#include "server/models/folder/recovery.h"
#include "tests/support/mechanisms.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

constexpr int kCycles = 6;
constexpr int kStreams = 3;  // 0 and 1 are of one user
constexpr std::uint64_t kReportSteps = 4;

ModelSpec SpecUnderTest(const std::string& kind) {
  // Checkpoints as often as possible, so that kills hit them too.
  return SpecOf(
      "name: 'm' dimension: 2 mode: LOCAL_REWARD independent {} refresh_interval {}"
      " reward_min: -1 reward_max: 3 reporting { one_per_decision: true } checkpoint { events: 20 }"
      " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 1000 kind: " +
      kind + " } }");
}

std::string UserOf(int stream) { return stream == 2 ? "bob" : "ann"; }
std::vector<double> FeaturesOf(std::uint64_t step) { return {0.6, step % 2 == 0 ? 0.8 : -0.8}; }

// The moment that a device would have released at the step: only the covered part of the stream
// moves it.
std::vector<double> MomentOf(const CounterDesign& design, int stream, std::uint64_t step) {
  const auto covered = static_cast<double>(design.Covered(step));
  return {0.25 * covered, -0.125 * covered * stream};
}

ReportedCounter ReportOf(const HostedModel& model, const CounterDesign& design, int stream,
                         std::uint64_t first, std::uint64_t last) {
  ReportedCounter report{.step = last, .moment = MomentOf(design, stream, last)};
  report.stream.fill(static_cast<std::byte>(stream + 1));
  for (std::uint64_t step = first; step <= last; ++step) {
    report.decisions.emplace_back(DecisionOf(model, SystemClock(), 100'000 * stream + step,
                                             FeaturesOf(step), UserOf(stream)));
    report.shown.push_back(0);
  }
  return report;
}

ReportResult Send(HostedModel& model, ReportedCounter report) {
  std::promise<absl::StatusOr<std::vector<ReportResult>>> promise;
  model.ReportCounters({std::move(report)}, [&](auto results) { promise.set_value(results); });
  const auto results = promise.get_future().get();
  return results.ok() ? results->front() : ReportResult{};
}

struct Acknowledged {
  int stream = 0;
  std::uint64_t step = 0;
};

// Never returns: each stream sends what follows its newest acknowledged step until the kill; after
// a kill what it sends may be known to the server in part.
[[noreturn]] void RunChild(const ModelSpec& spec, const std::string& folder,
                           std::array<std::uint64_t, kStreams> acknowledged, int pipe) {
  const auto design = testing::DesignOf(spec.public_spec);
  auto opened = HostedModel::Open(spec, folder, SystemClock());
  if (!opened.ok()) _exit(3);
  HostedModel& model = **opened;
  for (std::uint64_t round = 0;; ++round) {
    for (int stream = 0; stream < kStreams; ++stream) {
      const std::uint64_t first = acknowledged[stream] + 1;
      const std::uint64_t last = acknowledged[stream] + 1 + (round + stream) % kReportSteps;
      const ReportResult result = Send(model, ReportOf(model, design, stream, first, last));
      if (result.code != v1::APPLIED && result.code != v1::DUPLICATE) _exit(4);
      if (result.acknowledged_step < last) _exit(5);
      acknowledged[stream] = result.acknowledged_step;
      const Acknowledged one{stream, acknowledged[stream]};
      if (::write(pipe, &one, sizeof one) != sizeof one) _exit(6);
    }
  }
}

// Moves `acknowledged` to what a child has acknowledged that was killed after `enough` answers.
void RunAndKill(const ModelSpec& spec, const std::string& folder, int enough,
                std::array<std::uint64_t, kStreams>& acknowledged) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(fds[0]);
    RunChild(spec, folder, acknowledged, fds[1]);
  }
  ::close(fds[1]);
  Acknowledged one;
  for (int answers = 0; ::read(fds[0], &one, sizeof one) == sizeof one;) {
    acknowledged[one.stream] = one.step;
    if (++answers == enough) ::kill(child, SIGKILL);
  }
  ::close(fds[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, code " << WEXITSTATUS(status);
}

// Compares each user's statistics and releases with those of `steps` steps of each stream, computed
// without any server.
void ExpectUninterrupted(const ModelSpec& spec, const std::string& folder,
                         const std::array<std::uint64_t, kStreams>& steps) {
  const auto design = testing::DesignOf(spec.public_spec);
  UserIndex users;
  Counters counters;
  auto recovered = *server::Recover(spec, folder, {}, users, counters);
  std::uint64_t all = 0;
  ASSERT_EQ(users.size(), 2);
  for (const std::string user : {"ann", "bob"}) {
    SCOPED_TRACE(user);
    NodeStatistics expected = EmptyStatistics(2);
    std::uint64_t events = 0;
    for (int stream = 0; stream < kStreams; ++stream) {
      if (UserOf(stream) != user) continue;
      for (std::uint64_t step = 1; step <= design.Covered(steps[stream]); ++step) {
        AddEvent({.features = FeaturesOf(step), .reward = spec.public_spec.reward_range.middle()},
                 expected);
      }
      const std::vector<double> moment = MomentOf(design, stream, steps[stream]);
      for (int i = 0; i < 2; ++i) expected.moment[i] += moment[i];
      expected.moment_variance += design.PredictedVariance(steps[stream]);
      events += steps[stream];
    }
    const int node = users.Find(user);
    const NodeStatistics got =
        WithRelease(recovered.statistics[node], recovered.path->ReleaseOf(recovered.state, node));
    EXPECT_EQ(got.events, events);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(got.gram[i], expected.gram[i], 1e-9);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(got.moment[i], expected.moment[i], 1e-9);
    EXPECT_DOUBLE_EQ(got.moment_variance, expected.moment_variance);
    all += events;
  }
  EXPECT_EQ(counters.Get()[Counters::kApplied], all);
  std::uint64_t paid = 0;
  for (const Account& account : recovered.state.ledger.accounts()) {
    paid += account.releases;
  }
  EXPECT_EQ(paid, kStreams);
}

class CounterKillTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CounterKillTest, EveryAcknowledgedStepCountsOnceAndTheNewestWins) {
  const ModelSpec spec = SpecUnderTest(GetParam());
  const auto design = testing::DesignOf(spec.public_spec);
  const TempDir folder;
  TestRng rng(11);
  std::array<std::uint64_t, kStreams> acknowledged{};
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    SCOPED_TRACE(cycle);
    RunAndKill(spec, folder.path(), 10 + static_cast<int>(rng.Index(60)), acknowledged);
    if (HasFatalFailure()) return;
    // No thread of this may live when the next child is forked.
    std::array<std::uint64_t, kStreams> steps{};
    {
      auto model = HostedModel::Open(spec, folder.path(), SystemClock());
      ASSERT_THAT(model, IsOk());
      for (int stream = 0; stream < kStreams; ++stream) {
        SCOPED_TRACE(stream);
        // The newest acknowledged report again: known, and the answer says where the stream stands.
        const ReportResult result = Send(
            **model, ReportOf(**model, design, stream, acknowledged[stream], acknowledged[stream]));
        EXPECT_EQ(result.code, v1::DUPLICATE);
        steps[stream] = result.acknowledged_step;
        // One report may be durable whose answer did not get out.
        EXPECT_GE(steps[stream], acknowledged[stream]);
        EXPECT_LE(steps[stream], acknowledged[stream] + kReportSteps);
      }
    }
    ExpectUninterrupted(spec, folder.path(), steps);
  }
  EXPECT_GT(design.Covered(acknowledged[0]), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CounterKillTest, ::testing::Values("BLT", "EPOCHS"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace bandana::testing
