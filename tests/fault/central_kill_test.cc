// A child process runs a central model and is killed between each two steps towards a release: the
// debit with its events becomes durable, noise is drawn, the position persists, the posterior is
// published. Whatever was published before the kill must come out of the log again, to the bit of
// the noise, behind its debit.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <string>

#include "common/bandits/statistics.h"
#include "common/model/learners/learner.h"
#include "common/model/state/model_state.h"
#include "server/models/folder/recovery.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using server::HostedModel;

// One counter per user, one over all users of a graph, one of contexts and rewards together, and
// episodes of them.
const char* const kModels[] = {
    "mode: CENTRAL_REWARD shared {} privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER }",
    "mode: CENTRAL_REWARD colin { graph { users: 2 rows: [0, 1, 0] columns: [0, 1, 1]"
    " weights: [1, 1, 0.5] } } privacy { epsilon: 2 delta: 1e-6 mechanism: SHAPED_COUNTER"
    " counter { horizon: 1000 } }",
    "mode: JOINT shared {} privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER }",
    "mode: JOINT sparse { sparsity: 2 } privacy { epsilon: 18 delta: 1e-5 }"};
constexpr int kSparse = 3;

ModelSpec SpecUnderTest(int which) {
  return SpecOf(std::string("name: 'm' dimension: 2 refresh_interval {} ") + kModels[which] +
                " reporting { one_per_decision: true }");
}

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{5});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

struct Published {
  std::uint64_t version = 0;
  double mean[2] = {};
};

// Never returns: one event after the other, each publication into the pipe; SIGKILL at the
// `count`th time of the step.
[[noreturn]] void RunChild(int which, const std::string& folder, std::string_view step, int count,
                           std::uint64_t first, int pipe) {
  const FakeClock clock;
  int seen = 0;
  server::HostedModelOptions options;
  options.noise_key = Key();
  options.trace = [&](std::string_view at) {
    if (at == step && ++seen == count) ::kill(::getpid(), SIGKILL);
  };
  auto opened = HostedModel::Open(SpecUnderTest(which), folder, clock, options);
  if (!opened.ok()) _exit(3);
  HostedModel& model = **opened;
  for (std::uint64_t number = first;; ++number) {
    const auto decision = DecisionOf(model, clock, number, {0.6, number % 2 == 0 ? 0.8 : -0.8});
    if (CodeOf(ReportOne(model, decision, 1)) != v1::APPLIED) _exit(4);
    // An episode's events are published at its end, all others' at once.
    if (!Eventually([&] {
          const v1::GetStatsResponse stats = model.Stats();
          return (which == kSparse ? stats.applied_sequence() : stats.posterior_version()) ==
                 stats.log_sequence();
        })) {
      _exit(5);
    }
    const auto posterior = model.posterior();
    Published published{.version = posterior->version()};
    for (int i = 0; i < 2; ++i) published.mean[i] = NodeOf(*posterior, 0).mean[i];
    if (::write(pipe, &published, sizeof published) != sizeof published) _exit(6);
  }
}

std::vector<Published> RunAndKill(int which, const std::string& folder, std::string_view step,
                                  int count, std::uint64_t first) {
  int fds[2];
  EXPECT_EQ(::pipe(fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(fds[0]);
    RunChild(which, folder, step, count, first, fds[1]);
  }
  ::close(fds[1]);
  std::vector<Published> all;
  Published one;
  while (::read(fds[0], &one, sizeof one) == sizeof one) all.push_back(one);
  ::close(fds[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, code " << WEXITSTATUS(status);
  return all;
}

// The posterior mean after every entry, from the log alone; and that debits come first.
std::map<std::uint64_t, std::vector<double>> Replay(const ModelSpec& spec,
                                                    const std::string& folder) {
  std::map<std::uint64_t, std::vector<double>> means;
  UserIndex users;
  Counters counters;
  auto recovered = *server::Recover(spec, folder, {.noise_key = Key()}, users, counters);
  ModelState state;
  const auto learner = *recovered.path->MakeLearner(spec, state, recovered.path->NoStatistics());
  std::vector<LogEntry> entries;
  EXPECT_THAT(recovered.log->Read({}, 1000, entries), IsOk());
  for (const LogEntry& entry : entries) {
    EXPECT_THAT(state.Apply(entry, *recovered.path, users, *learner), IsOk());
    learner->Flush(state);
    EXPECT_THAT(learner->Refresh(state), IsOk());
    means[entry.position.sequence] = learner->Posterior(0).mean;
    EXPECT_GE(state.ledger.accounts().size(), learner->events(0) > 0 ? 1 : 0);
  }
  EXPECT_EQ(state.ledger.debits(), entries.empty() ? 0 : 1);  // one stream, paid once
  if (spec.sparse) {
    EXPECT_EQ(state.sparse.estimate().value(), recovered.state.sparse.estimate().value());
    EXPECT_EQ(state.sparse.rows(), recovered.state.sparse.rows());
    return means;
  }
  EXPECT_EQ(recovered.path->ReleaseOf(state, 0).value().moment,
            recovered.path->ReleaseOf(recovered.state, 0).value().moment);
  return means;
}

class CentralKillTest : public ::testing::TestWithParam<int> {};

TEST_P(CentralKillTest, WhatWasPublishedComesOutOfTheLogAgain) {
  const ModelSpec spec = SpecUnderTest(GetParam());
  for (const char* step : {"durable", "drawn", "persisted", "published"}) {
    SCOPED_TRACE(step);
    const TempDir folder;
    std::uint64_t first = 0;
    std::vector<Published> published;
    for (const int count : {1, 2, 5}) {
      const auto some = RunAndKill(GetParam(), folder.path(), step, count, first);
      published.insert(published.end(), some.begin(), some.end());
      first += 100;
    }
    const auto means = Replay(spec, folder.path());
    EXPECT_GE(means.size(), 4);
    EXPECT_FALSE(published.empty());
    for (const Published& one : published) {
      ASSERT_TRUE(means.contains(one.version)) << one.version;
      // The blocks that a posterior was refreshed in change its last bits; other noise would
      // change its first ones.
      for (int i = 0; i < 2; ++i) {
        EXPECT_NEAR(one.mean[i], means.at(one.version)[i], 1e-9 * (1 + std::abs(one.mean[i])));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CentralKillTest, ::testing::Values(0, 1, 2, kSparse));

}  // namespace
}  // namespace bandana::testing
