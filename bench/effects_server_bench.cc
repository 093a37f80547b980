// A server's model with the standard effects at full size: its log on disk, admission, statistics,
// posterior and checkpoints, without the wire.
//   ./dev bench effects_server [--users 1000000 --arms 1000000 --events 10000000]
// Reports of 64 events come as fast as they are taken, while another thread makes one decision
// among 10 arms after the other. The last line is `events_per_second=N rss_mib=N select_us_p50=X
// select_us_p99=X select_us_p99_idle=X checkpoint_mib=N checkpoint_seconds=X
// select_us_p99_checkpoint=X restart_seconds=X`. Times are wall times.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
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
#include "common/ranking/scoring.h"
#include "server/models/hosted_model.h"
#include "tools/base/work_folder.h"

ABSL_FLAG(int, users, 1'000'000, "users, by Zipf's law");
ABSL_FLAG(int, arms, 1'000'000, "arms, by Zipf's law");
ABSL_FLAG(std::int64_t, events, 10'000'000, "in all");
ABSL_FLAG(int, dimension, 25, "of the features");
ABSL_FLAG(int, levels, 8, "of groups of users: 20000, 10000, ...");
ABSL_FLAG(std::string, folder, "",
          "of the model; by default a new one under /tmp, removed at the end");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;
using server::HostedModel;

constexpr int kArms = 10;
constexpr int kPutTogether = 100'000;  // users

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Decisions of random users among random arms, until told to stop. Takes the time of each.
class Selector {
 public:
  explicit Selector(const ZipfOptions& options) : options_(options) {}

  std::vector<double> Run(const HostedModel& model, const std::atomic<bool>& stop) {
    ZipfOptions options = options_;
    options.seed = ++runs_ + 100;
    ZipfEvents events(options);
    std::vector<EffectKey> user;
    std::vector<EffectKey> arm;
    std::vector<EffectKey> arms(kArms);
    std::vector<std::vector<double>> features(kArms);
    NodePosterior scratch;
    ArmScores scores;
    std::vector<double> micros;
    while (!stop) {
      const std::string name = events.DrawUserName();
      for (int a = 0; a < kArms; ++a) {
        events.DrawArm(arm);
        arms[a] = arm[0];
        events.DrawFeatures(features[a]);
      }
      const auto start = Clock::now();
      const double* x[kArms];
      for (int a = 0; a < kArms; ++a) x[a] = features[a].data();
      model.UserParts(name, user);
      model.posterior()->Score({.keys = user}, {.features = x, .keys = arms}, scratch, scores);
      micros.push_back(1e6 * SecondsSince(start));
    }
    return micros;
  }

 private:
  const ZipfOptions options_;
  std::uint64_t runs_ = 0;
};

// Runs `work` while another thread selects; the times of its decisions.
template <typename Work>
std::vector<double> Beside(Selector& selector, const HostedModel& model, const Work& work) {
  std::atomic<bool> stop = false;
  std::vector<double> micros;
  std::thread thread([&] { micros = selector.Run(model, stop); });
  work();
  stop = true;
  thread.join();
  return micros;
}

void PutUsers(HostedModel& model, const ZipfEvents& events, int users, int levels) {
  for (int first = 0; first < users; first += kPutTogether) {
    auto batch = model.NewUsers();
    BANDANA_CHECK(batch.ok());
    for (int user = first; user < std::min(users, first + kPutTogether); ++user) {
      v1::User entry;
      entry.set_id(absl::StrCat(user));
      for (int level = 0; level < levels; ++level) {
        (*entry.mutable_groups())[ZipfEvents::LevelName(level)] =
            absl::StrCat(events.GroupOf(user, level));
      }
      BANDANA_CHECK(batch->Add(entry).ok());
    }
    v1::PutUsersResponse response;
    BANDANA_CHECK(model.PutUsers(*batch, &response).ok());
  }
}

std::unique_ptr<HostedModel> Open(const ZipfOptions& options, const std::string& folder) {
  auto model = HostedModel::Open(ZipfModelSpec(options), folder, SystemClock());
  BANDANA_CHECK(model.ok());
  return *std::move(model);
}

int Main() {
  const ZipfOptions options{.users = absl::GetFlag(FLAGS_users),
                            .arms = absl::GetFlag(FLAGS_arms),
                            .dimension = absl::GetFlag(FLAGS_dimension),
                            .levels = absl::GetFlag(FLAGS_levels)};
  std::string folder = absl::GetFlag(FLAGS_folder);
  std::unique_ptr<WorkFolder> mine;
  if (folder.empty()) {
    mine = *WorkFolder::Make("effects-server");
    folder = mine->path();
  }
  Selector selector(options);
  ZipfEvents events(options);
  auto model = Open(options, folder);
  auto start = Clock::now();
  PutUsers(*model, events, options.users, options.levels);
  std::printf("users put in %.1f s\n", SecondsSince(start));

  const std::int64_t count = absl::GetFlag(FLAGS_events);
  start = Clock::now();
  double seconds = 0;
  const std::vector<double> learning = Beside(selector, *model, [&] {
    std::vector<EffectKey> arm;
    const auto of_user_and_arm = [&](ReportedOutcome& outcome) {
      events.DrawArm(arm);
      std::vector<EffectKey>& keys = outcome.decision.arms[0].keys;
      outcome.decision.node = 0;
      model->UserParts(events.DrawUserName(), keys);
      keys.push_back(arm[0]);
    };
    Reporter(*model, events, of_user_and_arm).Run([&](std::int64_t sent) { return sent >= count; });
    WaitApplied(*model);
    seconds = SecondsSince(start);
  });
  const double rss = ResidentMib();
  std::printf("%lld events in %.1f s beside %zu decisions\n", static_cast<long long>(count),
              seconds, learning.size());
  const std::vector<double> idle =
      Beside(selector, *model, [] { std::this_thread::sleep_for(std::chrono::seconds(3)); });
  start = Clock::now();
  std::uint64_t bytes = 0;
  double checkpoint = 0;
  const std::vector<double> checkpointing = Beside(selector, *model, [&] {
    const auto written = model->Checkpoint();
    BANDANA_CHECK(written.ok());
    bytes = written->bytes();
    checkpoint = SecondsSince(start);
  });
  model.reset();
  start = Clock::now();
  model = Open(options, folder);
  const double restart = SecondsSince(start);
  model.reset();
  std::printf(
      "events_per_second=%.0f rss_mib=%.0f select_us_p50=%.1f select_us_p99=%.1f "
      "select_us_p99_idle=%.1f checkpoint_mib=%.0f checkpoint_seconds=%.2f "
      "select_us_p99_checkpoint=%.1f restart_seconds=%.1f\n",
      static_cast<double>(count) / seconds, rss, Percentile(learning, 0.5),
      Percentile(learning, 0.99), Percentile(idle, 0.99), static_cast<double>(bytes) / (1 << 20),
      checkpoint, Percentile(checkpointing, 0.99), restart);
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
