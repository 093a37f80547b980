// How long a coupled model's learning stands still while its posterior is computed anew beside it:
//   ./dev bench rebuild [--users 100 --rate 2000 --seconds 20]
// One component of all users, blocks of 64 events at a fixed rate. The last line is
// `rows=N rebuild_ms=N block_ms_p99=X beside_ms_p99=X beside_ms_max=X swap_ms=X`: a recomputation
// on the learning thread, a block without one beside it and with one, the longest such block, and
// taking its result. Wall time.
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/measure.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/base/check.h"

ABSL_FLAG(int, users, 100, "of one component");
ABSL_FLAG(double, rate, 2000, "events per second");
ABSL_FLAG(double, seconds, 20, "of each half: without a recomputation beside, and with one");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kDimension = 25;
constexpr int kBlock = 64;

double Ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::unique_ptr<BanditModel> Ring(int users) {
  Graph graph{.nodes = users};
  for (int u = 0; u < users; ++u) {
    graph.entries.push_back({u, u, 1});
    graph.entries.push_back({u, (u + 1) % users, 0.3});
    graph.entries.push_back({(u + 1) % users, u, 0.3});
  }
  auto coupling = Coupling::CoLin(graph, kDimension);
  BANDANA_CHECK(coupling.ok());
  auto model = BanditModel::Create({.dimension = kDimension}, *coupling);
  BANDANA_CHECK(model.ok());
  return *std::move(model);
}

// Blocks for so long, at the rate; how long each took.
std::vector<double> Learn(BanditModel& model, double seconds, double rate) {
  std::vector<double> took;
  std::vector<std::vector<double>> features(kBlock, std::vector<double>(kDimension));
  std::vector<Event> events(kBlock);
  unsigned state = 1;
  const auto begin = Clock::now();
  auto due = begin;
  const auto period =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kBlock / rate));
  while (Clock::now() - begin < std::chrono::duration<double>(seconds)) {
    for (int i = 0; i < kBlock; ++i) {
      for (double& x : features[i]) {
        state = state * 1664525 + 1013904223;
        x = (static_cast<double>(state >> 8) / (1 << 24) - 0.5) * 0.6;
      }
      state = state * 1664525 + 1013904223;
      events[i] = {static_cast<int>((state >> 8) % model.nodes()), features[i], 0.5};
    }
    const auto start = Clock::now();
    model.Apply(events);
    took.push_back(Ms(Clock::now() - start));
    due += period;
    std::this_thread::sleep_until(due);
  }
  return took;
}

void Run() {
  const double seconds = absl::GetFlag(FLAGS_seconds);
  const double rate = absl::GetFlag(FLAGS_rate);
  const auto model = Ring(absl::GetFlag(FLAGS_users));
  const std::vector<double> alone = Learn(*model, seconds, rate);
  auto start = Clock::now();
  model->Rebuild();
  const double rebuild = Ms(Clock::now() - start);
  start = Clock::now();
  model->BeginRebuild();
  std::vector<double> beside = {Ms(Clock::now() - start)};
  for (const double took : Learn(*model, seconds, rate)) beside.push_back(took);
  start = Clock::now();
  model->SwapRebuilt();
  const double swap = Ms(Clock::now() - start);
  std::printf(
      "rows=%d rebuild_ms=%.0f block_ms_p99=%.1f beside_ms_p99=%.1f beside_ms_max=%.1f "
      "swap_ms=%.1f\n",
      model->nodes() * kDimension, rebuild, Percentile(alone, 0.99), Percentile(beside, 0.99),
      Percentile(beside, 1), swap);
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  bandana::bench::Run();
}
