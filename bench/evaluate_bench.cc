// The cost of judging a log: a file of decisions of 25 catalogue arms, which the softmax of what a
// model expects has drawn, so that every propensity has all its digits; then `bandana-ctl evaluate`
// with three policies in this process. evaluate_bench [DECISIONS] [jsonl|jsonl.gz].
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "tools/base/work_folder.h"
#include "tools/decisions/decision_sink.h"
#include "tools/environments/random.h"
#include "tools/judge/judge_main.h"

namespace bandana::bench {
namespace {

constexpr int kArms = 25;

void Fill(std::uint64_t n, SeededStream& draws, LoggedDecision& decision) {
  char id[33];
  std::snprintf(id, sizeof id, "%016llx%016llx", static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(n * 0x9e3779b97f4a7c15));
  decision.id = id;
  decision.time = absl::FromUnixSeconds(1'700'000'000) + absl::Milliseconds(10 * n);
  decision.instance = "0123456789abcdef0123456789abcdef";
  decision.epoch = 1;
  decision.version = n;
  decision.slots.resize(1);
  LoggedSlot& slot = decision.slots[0];
  slot.offered = kArms;
  slot.ids.resize(kArms);
  slot.p.resize(kArms);
  slot.q.resize(kArms);
  for (int a = 0; a < kArms; ++a) {
    slot.ids[a] = static_cast<std::uint32_t>((n * 7919 + a * 389) % 100'000);
    slot.q[a] = std::round((0.03 + 0.04 * draws.Uniform()) * 1e7) / 1e7;
    slot.p[a] = std::exp(slot.q[a] / 0.02);
  }
  const double sum = std::accumulate(slot.p.begin(), slot.p.end(), 0.0);
  for (double& p : slot.p) p /= sum;
  double left = draws.Uniform();
  slot.chosen = 0;
  while (slot.chosen + 1 < kArms && left >= slot.p[slot.chosen]) left -= slot.p[slot.chosen++];
  slot.chosen_p = slot.p[slot.chosen];
  slot.state = RewardState::kKnown;
  slot.reward = draws.Uniform() < slot.q[slot.chosen] ? 1 : 0;
}

int Main(std::uint64_t decisions, const std::string& suffix) {
  auto folder = WorkFolder::Make("evaluate_bench");
  BANDANA_CHECK(folder.ok());
  const std::string path = (*folder)->path() + "/log." + suffix;
  auto sink = OpenDecisionSink(path, "");
  BANDANA_CHECK(sink.ok());
  SeededStream draws(1, StreamPurpose::kDecision, 0);
  LoggedDecision decision;
  for (std::uint64_t n = 0; n < decisions; ++n) {
    Fill(n, draws, decision);
    BANDANA_CHECK((*sink)->Write(decision).ok());
  }
  BANDANA_CHECK((*sink)->Finish().ok());
  sink->reset();
  const double bytes = static_cast<double>(std::filesystem::file_size(path));
  const absl::Time begin = SteadyNow();
  const double before = CpuSeconds();  // of the one thread that judges
  const std::vector<std::string> words = {"--log",   path,     "--policy", "logging",
                                          "uniform", "greedy", "--json",   "-"};
  const int code = RunEvaluate(words, stdout, stderr);
  const double processor_s = CpuSeconds() - before;
  std::printf("%llu lines of %.0f bytes: %.1f s of processor time, %.1f s, at most %.0f MiB\n",
              static_cast<unsigned long long>(decisions), bytes / static_cast<double>(decisions),
              processor_s, absl::ToDoubleSeconds(SteadyNow() - begin), PeakMib());
  return code;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  const std::uint64_t decisions = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  return bandana::bench::Main(std::max<std::uint64_t>(decisions, 10'000),
                              argc > 2 ? argv[2] : "jsonl");
}
