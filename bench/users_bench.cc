// A server's model with a posterior for each user at full size: its log on disk, admission,
// statistics, posteriors and checkpoints, without the wire.
//   ./dev bench users [--users 1000000 --events 10000000]
// Users report by Zipf's law, 64 events in a call, as fast as calls are taken. The last line is
// `rss_mib=N checkpoint_stall_ms_max=N restart_seconds=N`:
//   rss_mib                  resident memory once all events are in the posterior and a checkpoint,
//                            and none is being written
//   checkpoint_stall_ms_max  the longest time between two versions of the posterior while
//                            checkpoints are written, --checkpoints of them, and reports come
//                            without a pause: as long, what was reported stayed without effect
//   restart_seconds          from opening the folder until the model serves
// The lines before it have the same of learning, beside the checkpoints that the model writes by
// itself, the memory after the restart, and how long decisions and learning take at a fixed rate of
// reports, without checkpoints and while one is written after another; then how long an export and
// an import into another registry take, and whether the copy's scores are the same bit for bit.
// Times are wall times.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/measure.h"
#include "bench/reporter.h"
#include "bench/zipf_events.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/design/planner/served_config.h"
#include "common/ranking/scoring.h"
#include "server/models/hosted_model.h"
#include "server/models/registry.h"
#include "tools/base/work_folder.h"

ABSL_FLAG(int, users, 1'000'000, "users, by Zipf's law; users_max of the model");
ABSL_FLAG(std::int64_t, events, 10'000'000, "in all");
ABSL_FLAG(int, dimension, 25, "of the features");
ABSL_FLAG(std::int64_t, checkpoint_events, 0,
          "events between two checkpoints that the model writes by itself; 0: its default");
ABSL_FLAG(int, checkpoints, 1, "written one after another beside reports without a pause");
ABSL_FLAG(double, rate, 5000, "reports per second beside which decisions are timed");
ABSL_FLAG(double, seconds, 15, "for which they are, without and with checkpoints");
ABSL_FLAG(std::string, folder, "",
          "of the model; by default a new one under /tmp, removed at the end");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;
using server::HostedModel;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

ModelSpec UsersSpec(int users) {
  v1::ModelConfig config;
  config.set_name("users");
  config.set_dimension(static_cast<std::uint32_t>(absl::GetFlag(FLAGS_dimension)));
  config.set_mode(v1::NON_PRIVATE);
  config.mutable_independent()->set_users_max(static_cast<std::uint32_t>(users));
  if (const auto events = absl::GetFlag(FLAGS_checkpoint_events); events > 0)
    config.mutable_checkpoint()->set_events(static_cast<std::uint64_t>(events));
  std::vector<ConfigError> errors;
  std::optional<ModelSpec> spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  BANDANA_CHECK(spec.has_value());
  return *std::move(spec);
}

// Looks every millisecond how long the posterior has stood still, until told to stop; shows
// progress.
class Watch {
 public:
  explicit Watch(const HostedModel& model)
      : model_(model), start_(Clock::now()), thread_([this] { Run(); }) {}
  // The longest standstill in milliseconds.
  double Stop() {
    stop_ = true;
    thread_.join();
    return longest_ms_;
  }

 private:
  void Run() {
    Clock::time_point moved = Clock::now();
    Clock::time_point said = moved;
    std::uint64_t version = model_.posterior()->version();
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::uint64_t now = model_.posterior()->version();
      if (now == version) continue;
      longest_ms_ = std::max(longest_ms_, 1e3 * SecondsSince(moved));
      moved = Clock::now();
      version = now;
      if (SecondsSince(said) < 5) continue;
      said = moved;
      std::fprintf(stderr, "%6.0f s: %llu log entries applied, %d users, %.0f MiB\n",
                   SecondsSince(start_), static_cast<unsigned long long>(now),
                   model_.posterior()->nodes(), ResidentMib());
    }
    longest_ms_ = std::max(longest_ms_, 1e3 * SecondsSince(moved));
  }

  const HostedModel& model_;
  const Clock::time_point start_;
  std::atomic<bool> stop_ = false;
  double longest_ms_ = 0;
  std::thread thread_;
};

std::unique_ptr<HostedModel> Open(int users, const std::string& folder) {
  auto model = HostedModel::Open(UsersSpec(users), folder, SystemClock());
  BANDANA_CHECK(model.ok());
  return *std::move(model);
}

// Percentiles of what callers wait for.
struct Waits {
  double select_us = 0;  // p99 of the scores of 25 arms for one user
  double lag_ms = 0;     // p99 of the time from the log to the posterior
};

// Scores 25 arms for users in an order without a pattern.
class Scorer {
 public:
  explicit Scorer(int users) : users_(users) {
    for (std::size_t i = 0; i < features_.size(); ++i) {
      features_[i] = 0.01 * static_cast<double>(i % 17);
    }
    for (std::size_t arm = 0; arm < kArms; ++arm) arms_.push_back(&features_[arm * d_]);
  }
  const ArmScores& Score(const HostedModel& model, unsigned number) {
    const auto node = model.ResolveUser(absl::StrCat("user-", number * 2654435761u % users_));
    model.posterior()->Score({.node = node.value_or(-1)}, {.features = arms_}, scratch_, scores_);
    return scores_;
  }

 private:
  static constexpr std::size_t kArms = 25;
  const std::size_t d_ = static_cast<std::size_t>(absl::GetFlag(FLAGS_dimension));
  const unsigned users_;
  std::vector<double> features_ = std::vector<double>(kArms * d_);
  std::vector<const double*> arms_;
  NodePosterior scratch_;
  ArmScores scores_;
};

// Decisions and learning while reports come at the rate.
class Timing {
 public:
  Timing(const HostedModel& model, int users)
      : model_(model), select_([this, users] { Select(users); }), lag_([this] { Lag(); }) {}
  Waits Stop() {
    stop_ = true;
    select_.join();
    lag_.join();
    return {.select_us = Percentile(select_us_, 0.99), .lag_ms = Percentile(lag_ms_, 0.99)};
  }

 private:
  void Select(int users) {
    Scorer scorer(users);
    for (unsigned i = 1; !stop_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto start = Clock::now();
      scorer.Score(model_, i);
      select_us_.push_back(1e6 * SecondsSince(start));
    }
  }
  void Lag() {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const auto start = Clock::now();
      const std::uint64_t durable = model_.Stats().log_sequence();
      while (!stop_ && model_.posterior()->version() < durable)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      lag_ms_.push_back(1e3 * SecondsSince(start));
    }
  }

  const HostedModel& model_;
  std::atomic<bool> stop_ = false;
  std::vector<double> select_us_;  // of its thread until it has ended
  std::vector<double> lag_ms_;
  std::thread select_;
  std::thread lag_;
};

Waits TimeDecisions(HostedModel& model, ZipfEvents& events, const Reporter::Complete& of_user,
                    int users) {
  const auto start = Clock::now();
  Timing timing(model, users);
  Reporter(model, events, of_user).Run([&](std::int64_t sent) {
    const std::chrono::duration<double> due(static_cast<double>(sent) / absl::GetFlag(FLAGS_rate));
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
    return SecondsSince(start) >= absl::GetFlag(FLAGS_seconds);
  });
  return timing.Stop();
}

// The longest standstill in milliseconds while one checkpoint is written.
double StallBesideCheckpoint(HostedModel& model, ZipfEvents& events,
                             const Reporter::Complete& of_user) {
  // A checkpoint of a position that has one is not written again.
  Reporter(model, events, of_user).Run([](std::int64_t sent) { return sent > 0; });
  const auto start = Clock::now();
  std::atomic<bool> written = false;
  Watch watch(model);
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::thread writer([&] {
    const auto response = model.Checkpoint();
    BANDANA_CHECK(response.ok());
    bytes = response->bytes();
    seconds = SecondsSince(start);
    written = true;
  });
  Reporter(model, events, of_user).Run([&](std::int64_t) { return written.load(); });
  writer.join();
  const double stall = watch.Stop();
  WaitApplied(model);
  std::printf(
      "checkpoint of %.0f MiB in %.1f s beside reports, standstill %.0f ms, %.0f MiB resident "
      "afterwards\n",
      static_cast<double>(bytes) / (1 << 20), seconds, stall, ResidentMib());
  std::fflush(stdout);
  return stall;
}

// Exports the model from file to file into a registry of its own.
void TimeCopy(HostedModel& model, int users) {
  constexpr unsigned kCompared = 20'000;
  auto start = Clock::now();
  auto exported = model.ExportToFile();
  BANDANA_CHECK(exported.ok());
  const double export_seconds = SecondsSince(start);
  {
    const auto folder = WorkFolder::Make("users-copy");
    BANDANA_CHECK(folder.ok());
    auto registry = server::ModelRegistry::Open({.data_dir = (*folder)->path(), .models_max = 1},
                                                SystemClock());
    BANDANA_CHECK(registry.ok());
    start = Clock::now();
    const auto map = exported->file.Map();
    BANDANA_CHECK(map.ok());
    const auto copy = (*registry)->Import("copy", map->bytes(), &exported->header);
    BANDANA_CHECK(copy.ok());
    const double import_seconds = SecondsSince(start);
    Scorer of_model(users), of_copy(users);
    unsigned different = 0;
    for (unsigned i = 1; i <= kCompared; ++i) {
      const ArmScores& a = of_model.Score(model, i);
      const ArmScores& b = of_copy.Score(**copy, i);
      if (a.means != b.means || a.widths != b.widths) ++different;
    }
    std::printf(
        "export of %.0f MiB in %.1f s, import in %.1f s: %d users; scores of 25 arms for %u of "
        "them: %u different\n",
        static_cast<double>(map->bytes().size()) / (1 << 20), export_seconds, import_seconds,
        (*copy)->posterior()->nodes(), kCompared, different);
    BANDANA_CHECK(different == 0);
  }
}

int Main() {
  const int users = absl::GetFlag(FLAGS_users);
  std::string folder = absl::GetFlag(FLAGS_folder);
  std::unique_ptr<WorkFolder> mine;
  if (folder.empty()) {
    mine = *WorkFolder::Make("users");
    folder = mine->path();
  }
  ZipfEvents events(
      {.users = users, .arms = 1, .dimension = absl::GetFlag(FLAGS_dimension), .levels = 0});
  const double before = ResidentMib();
  auto model = Open(users, folder);
  const std::int64_t count = absl::GetFlag(FLAGS_events);
  auto start = Clock::now();
  Watch learning(*model);
  const auto of_user = [&](ReportedOutcome& outcome) {
    outcome.decision.user = absl::StrCat("user-", events.DrawUserName());
  };
  Reporter(*model, events, of_user).Run([&](std::int64_t sent) { return sent >= count; });
  const double reported = SecondsSince(start);
  const double learning_stall = learning.Stop();
  WaitApplied(*model);
  const double applied = SecondsSince(start);
  const double most = PeakMib();
  // A checkpoint that the model writes by itself may wait for the first, and is over after the
  // second.
  for (int i = 0; i < 2; ++i) BANDANA_CHECK(model->Checkpoint().ok());
  malloc_trim(0);
  const double rss = ResidentMib();
  std::printf(
      "%lld events of %d users reported in %.1f s, applied in %.1f s, longest standstill %.0f ms\n",
      static_cast<long long>(count), model->posterior()->nodes(), reported, applied,
      learning_stall);
  std::printf("%.0f MiB before the first, %.0f at most, %.0f after, %.0f bytes per user\n", before,
              most, rss, (rss - before) * (1 << 20) / std::max(1, model->posterior()->nodes()));

  double stall = 0;
  for (int i = 0; i < absl::GetFlag(FLAGS_checkpoints); ++i)
    stall = std::max(stall, StallBesideCheckpoint(*model, events, of_user));
  const Waits plain = TimeDecisions(*model, events, of_user, users);
  std::atomic<bool> timed = false;
  std::thread checkpoints([&] {
    while (!timed) BANDANA_CHECK(model->Checkpoint().ok());
  });
  const Waits beside = TimeDecisions(*model, events, of_user, users);
  timed = true;
  checkpoints.join();
  std::printf(
      "at %.0f reports per second: p99 of a selection %.0f us, beside checkpoints %.0f us; p99 of "
      "the time to the posterior %.1f ms, beside checkpoints %.1f ms\n",
      absl::GetFlag(FLAGS_rate), plain.select_us, beside.select_us, plain.lag_ms, beside.lag_ms);
  model.reset();
  malloc_trim(0);
  start = Clock::now();
  model = Open(users, folder);
  const double restart = SecondsSince(start);
  malloc_trim(0);
  std::printf("%d users after the restart, %.0f MiB; at most, since the beginning, %.0f\n",
              model->posterior()->nodes(), ResidentMib(), PeakMib());
  TimeCopy(*model, users);
  model.reset();
  std::printf("rss_mib=%.0f checkpoint_stall_ms_max=%.0f restart_seconds=%.1f\n", rss, stall,
              restart);
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
