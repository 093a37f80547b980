// SIGKILL while checkpoints are written, whole ones, copies and differences: what was acknowledged
// is there, to the byte, and whatever the log was trimmed to is reached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/time/clock.h"
#include "server/models/folder/checkpoint_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr int kDimension = 12;
constexpr int kNodes = 150;

int Kills() {
  const char* given = std::getenv("BANDANA_KILLS");
  return given == nullptr ? 40 : std::atoi(given);
}

// The state after so many events: each is one node's.
Checkpoint StateAt(std::uint64_t sequence) {
  Checkpoint state;
  state.dimension = kDimension;
  state.state.position.sequence = sequence;
  state.state.events_at_epoch.assign(kNodes, 0);
  state.statistics.resize(kNodes);
  TestRng rng(3);
  for (NodeStatistics& node : state.statistics) {
    node.gram.resize(kDimension * (kDimension + 1) / 2);
    node.moment.resize(kDimension);
    for (double& v : node.gram) v = rng.Normal();
  }
  for (std::uint64_t event = 1; event <= sequence; ++event) {
    NodeStatistics& node = state.statistics[event * event % kNodes];
    ++node.events;
    node.moment[event % kDimension] += static_cast<double>(event);
  }
  return state;
}

struct Acknowledged {
  std::uint64_t written = 0;
  std::uint64_t log_gone = 0;
};

CheckpointStore Open(const std::string& folder) {
  return CheckpointStore({.folder = folder, .base_bytes_min = 1000}, [](const std::string&) {});
}

// In the child: until it is killed.
[[noreturn]] void WriteForever(const std::string& folder, std::uint64_t from, int acknowledge) {
  CheckpointStore store = Open(folder);
  for (std::uint64_t sequence = from + 1;; ++sequence) {
    const Checkpoint state = StateAt(sequence);
    const ByteSource source = [&](const ByteSink& sink) {
      return server::EncodeAgain(state, sink);
    };
    // As a deletion does it, now and then.
    const auto gone =
        sequence % 17 == 0 ? store.WriteAlone(sequence, source) : store.Write(sequence, source);
    if (!gone.ok()) _exit(1);
    const Acknowledged now{.written = sequence, .log_gone = *gone};
    if (write(acknowledge, &now, sizeof now) != sizeof now) _exit(2);
  }
}

TEST(CheckpointKillTest, LosesNothingThatWasAcknowledged) {
  const TempDir folder;
  TestRng rng(5);
  Acknowledged last;
  int with_differences = 0;
  for (int kill = 0; kill < Kills(); ++kill) {
    SCOPED_TRACE(kill);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      WriteForever(folder.path(), last.written, ends[1]);
    }
    close(ends[1]);
    absl::SleepFor(absl::Microseconds(500 + rng.Index(60'000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    for (Acknowledged next; read(ends[0], &next, sizeof next) == sizeof next;) last = next;
    close(ends[0]);

    CheckpointStore store = Open(folder.path());
    const auto newest = store.LoadNewest();
    ASSERT_THAT(newest, IsOk());
    if (last.written == 0 && !newest->has_value()) continue;
    ASSERT_TRUE(newest->has_value());
    const std::uint64_t sequence = (*newest)->state.position.sequence;
    EXPECT_GE(sequence, last.written);
    EXPECT_LE(sequence, last.written + 1);  // written, and not yet acknowledged
    EXPECT_TRUE(server::EncodeAgain(**newest) == server::EncodeAgain(StateAt(sequence)));
    // Each of the others as well, as far as the log reaches.
    const auto files = store.Files();
    ASSERT_THAT(files, IsOk());
    int reached = 0;
    for (const server::CheckpointFile& file : *files) {
      with_differences += file.base.has_value();
      const auto loaded = store.Load(file);
      ASSERT_THAT(loaded, IsOk()) << store.Path(file);
      reached += loaded->state.position.sequence >= last.log_gone;
    }
    EXPECT_GE(reached, 1);
    last.written = sequence;
  }
  std::printf("killed %d times, at checkpoint %d; differences read %d\n", Kills(),
              static_cast<int>(last.written), with_differences);
  EXPECT_GT(with_differences, 0);
}

}  // namespace
}  // namespace bandana::server
