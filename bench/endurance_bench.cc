// A server on its defaults under a steady load for a long time: does it go on learning, and what
// does it keep?
//   ./dev bench endurance [--rate 10000] [--seconds 1800] [--window_seconds 30]
// Starts bandana-server with one NON_PRIVATE model of 25 features and 25 catalogue arms and nothing
// else configured (or with a reward window). Over the wire, threads make decisions by BatchSelect
// and report each of them once, 64 in a call, at `rate` per second in all. A report that is
// UNAVAILABLE is counted, and not repeated. The memory at the start is taken after ten seconds. The
// ratio is the p99 of the selections' latency in the last tenth of the time over that in the first.
// The last line is `reports=N unavailable=N rss_mib_start=N rss_mib_end=N select_p99_ratio=X`.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "bench/server_child.h"

ABSL_FLAG(double, rate, 10'000, "decisions, and as many reports, per second");
ABSL_FLAG(int, seconds, 1800, "of load");
ABSL_FLAG(int, window_seconds, 0, "reward window of the model; 0: one report per decision");
ABSL_FLAG(int, threads, 4, "that call");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatch = 64;  // decisions in a call
constexpr int kWarmUpSeconds = 10;
constexpr int kProgressSeconds = 10;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string Config() {
  const int window = absl::GetFlag(FLAGS_window_seconds);
  const std::string reporting =
      window == 0 ? ""
                  : absl::StrCat("reporting { reward_window { duration { seconds: ", window,
                                 " } default_reward: 0 } }");
  return absl::StrCat("models { name: 'm' dimension: 25 mode: NON_PRIVATE shared {} ", reporting,
                      " }\n");
}

struct Totals {
  std::atomic<std::uint64_t> reports{0};      // acknowledged as APPLIED
  std::atomic<std::uint64_t> unavailable{0};  // decisions and reports that were refused
  std::atomic<std::uint64_t> other{0};        // whatever else went wrong
};

// Latencies of the calls of one part of the time.
class Latencies {
 public:
  void Add(double seconds) {
    const std::lock_guard lock(mutex_);
    seconds_.push_back(static_cast<float>(seconds));
  }
  double P99() {
    const std::lock_guard lock(mutex_);
    if (seconds_.empty()) return 0;
    const auto nth = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() * 99 / 100);
    std::nth_element(seconds_.begin(), nth, seconds_.end());
    return *nth;
  }

 private:
  std::mutex mutex_;
  std::vector<float> seconds_;
};

struct Load {
  Clock::time_point start = Clock::now();
  double seconds = 0;
  double calls_per_second = 0;  // of one thread
  Totals totals;
  Latencies first;
  Latencies last;
};

void Note(const grpc::Status& status, int count, Load& load) {
  (status.error_code() == grpc::StatusCode::UNAVAILABLE ? load.totals.unavailable
                                                        : load.totals.other) += count;
}

// One caller: decides, reports, and waits for its next turn. Turns that are late by more than a
// second are left out.
void Call(const std::string& address, int thread, Load& load) {
  grpc::ChannelArguments own;
  own.SetInt("caller", thread);  // a connection of its own
  const auto stub = v1::Recommender::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
  std::mt19937_64 random(static_cast<std::uint64_t>(thread) + 7);
  std::uniform_real_distribution<double> uniform;
  v1::BatchSelectRequest select;
  for (int i = 0; i < kBatch; ++i) {
    v1::SelectRequest& decision = *select.add_decisions();
    decision.set_model("m");
    decision.mutable_arms()->mutable_catalogue_query();
  }
  const std::chrono::duration<double> turn(1 / load.calls_per_second);
  auto due = load.start + std::chrono::duration_cast<Clock::duration>(turn * uniform(random));
  for (std::uint64_t call = 0;; ++call) {
    std::this_thread::sleep_until(due);
    due = std::max(due + std::chrono::duration_cast<Clock::duration>(turn),
                   Clock::now() - std::chrono::seconds(1));
    const double at = SecondsSince(load.start);
    if (at >= load.seconds) return;
    for (int i = 0; i < kBatch; ++i) {
      select.mutable_decisions(i)->set_user(absl::StrCat("u", random() % 1'000'000));
    }
    grpc::ClientContext select_context;
    v1::BatchSelectResponse selected;
    const auto before = Clock::now();
    const grpc::Status status = stub->BatchSelect(&select_context, select, &selected);
    if (!status.ok()) {
      Note(status, kBatch, load);
      continue;
    }
    const double took = SecondsSince(before);
    if (at < load.seconds / 10) load.first.Add(took);
    if (at >= load.seconds * 9 / 10) load.last.Add(took);
    v1::ReportRequest report;
    report.set_model("m");
    for (const auto& result : selected.results()) {
      if (!result.has_selection()) {
        Note(grpc::Status(static_cast<grpc::StatusCode>(result.code()), ""), 1, load);
        continue;
      }
      v1::Outcome& outcome = *report.add_outcomes();
      outcome.set_token(result.selection().token());
      outcome.set_reward(uniform(random));
    }
    if (report.outcomes().empty()) continue;
    grpc::ClientContext report_context;
    v1::ReportResponse response;
    const grpc::Status reported = stub->Report(&report_context, report, &response);
    if (!reported.ok()) {
      Note(reported, report.outcomes_size(), load);
      continue;
    }
    for (const auto& result : response.results()) {
      (result.code() == v1::APPLIED ? load.totals.reports : load.totals.other) += 1;
    }
  }
}

int Run() {
  const ServerChild server(Config());
  PutUnitArms(server.address());
  const int threads = absl::GetFlag(FLAGS_threads);
  Load load;
  load.seconds = absl::GetFlag(FLAGS_seconds);
  load.calls_per_second = absl::GetFlag(FLAGS_rate) / kBatch / threads;
  load.start = Clock::now();
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&, t] { Call(server.address(), t, load); });
  }
  int rss_start = 0;
  for (int second = 1; second <= absl::GetFlag(FLAGS_seconds); ++second) {
    std::this_thread::sleep_until(load.start + std::chrono::seconds(second));
    if (second == kWarmUpSeconds) rss_start = server.RssMib();
    if (second % kProgressSeconds != 0) continue;
    std::fprintf(stderr, "%d s: reports %llu, unavailable %llu, other %llu, rss %d MiB\n", second,
                 static_cast<unsigned long long>(load.totals.reports),
                 static_cast<unsigned long long>(load.totals.unavailable),
                 static_cast<unsigned long long>(load.totals.other), server.RssMib());
  }
  for (std::thread& caller : callers) caller.join();
  const int rss_end = server.RssMib();
  const double first = load.first.P99();
  if (load.totals.other > 0) {
    std::printf("other=%llu\n", static_cast<unsigned long long>(load.totals.other));
  }
  std::printf("select64_p99_ms_first=%.2f select64_p99_ms_last=%.2f\n", first * 1000,
              load.last.P99() * 1000);
  std::printf(
      "reports=%llu unavailable=%llu rss_mib_start=%d rss_mib_end=%d "
      "select_p99_ratio=%.2f\n",
      static_cast<unsigned long long>(load.totals.reports),
      static_cast<unsigned long long>(load.totals.unavailable), rss_start, rss_end,
      first > 0 ? load.last.P99() / first : 0);
  return load.totals.other == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Run();
}
