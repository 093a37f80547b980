// The decision log at its size: bytes of a line, what it costs to add, to join and to write as
// text, and how long a user's deletion takes. One process, no server; the rewards of all decisions
// come a million decisions later.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/decisions/jsonl_writer.h"
#include "server/decisions/decision_log.h"
#include "server/decisions/decision_reader.h"
#include "tools/base/work_folder.h"

namespace bandana::bench {
namespace {

constexpr int kArms = 25;
constexpr std::uint64_t kUsers = 100'000;

StoredId IdOf(std::uint64_t n) {
  StoredId id{};
  n *= 0x9e3779b97f4a7c15;  // as random as a hash table needs
  for (int i = 0; i < 8; ++i) id[i] = static_cast<std::byte>(n >> (8 * i));
  return id;
}

// The law of a softmax, whose propensities have all their digits, over what a model expects.
void Fill(std::uint64_t n, StoredDecision& decision) {
  decision.time = absl::FromUnixSeconds(1'700'000'000) + absl::Milliseconds(10 * n);
  decision.epoch = 1;
  decision.version = n;
  decision.offered = kArms;
  decision.slots.resize(1);
  decision.slots[0].id = IdOf(n);
  decision.slots[0].chosen = static_cast<std::uint32_t>(n % kArms);
  decision.slots[0].law.resize(kArms);
  decision.ids.resize(kArms);
  decision.q.resize(kArms);
  for (int a = 0; a < kArms; ++a) {
    decision.ids[a] = static_cast<std::uint32_t>((n * 7919 + a * 389) % 100'000);
    const double expected = 0.03 + 0.01 * static_cast<double>((n + 7 * a) % 311) / 311;
    decision.q[a] = static_cast<float>(expected);
    decision.slots[0].law[a] = std::exp(expected / 0.01);
  }
  std::vector<double>& law = decision.slots[0].law;
  const double sum = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& p : law) p /= sum;
}

std::string UserOf(std::uint64_t n) { return "user-" + std::to_string(n % kUsers); }

class Stopwatch {
 public:
  double Seconds() const { return absl::ToDoubleSeconds(SteadyNow() - begun_); }

 private:
  const absl::Time begun_ = SteadyNow();
};

template <typename T>
T Must(absl::StatusOr<T> value) {
  BANDANA_CHECK(value.ok());
  return *std::move(value);
}

int Main(std::uint64_t decisions) {
  const std::unique_ptr<WorkFolder> folder = Must(WorkFolder::Make("decision_log_bench"));
  const auto key = Must(server::NewPseudonymKey());
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  server::DecisionLog::Options options{
      .store = {.folder = folder->path() + "/decisions",
                .facts = {.range = {.min = 0, .max = 1}, .reported_within = absl::Hours(24)},
                .keep = absl::Hours(8760),
                .bytes_max = std::uint64_t{1} << 40},
      .key = key,
      .now = [&] { return now; },
      .free_bytes = [](const std::string&) { return std::uint64_t{1} << 40; },
      .warn = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); },
      .stepped = true};
  const auto log = Must(server::DecisionLog::Open(std::move(options)));
  StoredDecision decision;
  std::vector<RewardRow> rows;
  double adding = 0;
  const Stopwatch writing;
  for (std::uint64_t n = 0; n < decisions; ++n) {
    Fill(n, decision);
    const Stopwatch one;
    std::string bytes;
    bytes.reserve(512);
    EncodeDecision(decision, bytes);
    log->Add(std::move(bytes), UserOf(n));
    adding += one.Seconds();
    rows.push_back({.decision = IdOf(n), .value = n % 20 == 0 ? 1.0 : 0.0, .sequence = n + 1});
    if (rows.size() < 10'000) continue;
    log->AddRewards(rows, n + 1);
    rows.clear();
    now += absl::Milliseconds(100);
    log->Step();
  }
  log->AddRewards(rows, decisions);
  log->Flush();
  const auto count = static_cast<double>(decisions);
  const server::DecisionLog::Figures figures = log->figures();
  std::printf("%llu lines, %llu lost, %.1f bytes each with user and reward\n",
              static_cast<unsigned long long>(figures.lines),
              static_cast<unsigned long long>(figures.lost),
              static_cast<double>(figures.bytes) / count);
  std::printf("add %.2f us each, in all %.1f s\n", 1e6 * adding / count, writing.Seconds());

  const Stopwatch deleting;
  const std::vector<std::string> gone = {"user-7"};
  const std::uint64_t erased = Must(log->Erase(gone));
  std::printf("delete a user: %llu lines, %.2f s\n", static_cast<unsigned long long>(erased),
              deleting.Seconds());

  const Stopwatch joining;
  const auto reader = Must(server::DecisionReader::Open(
      {.folders = {folder->path() + "/decisions"}, .now = absl::InfiniteFuture()}));
  LoggedDecision line;
  std::string text;
  std::uint64_t lines = 0;
  std::uint64_t known = 0;
  double text_bytes = 0;
  while (Must(reader->Next(line))) {
    ++lines;
    known += line.slots.front().state == RewardState::kKnown ? 1 : 0;
    text.clear();
    AppendJsonLines(line, text);
    text_bytes += static_cast<double>(text.size());
  }
  std::printf("export: %llu lines, %llu with a reward, %.0f bytes each as JSON, %.1f s\n",
              static_cast<unsigned long long>(lines), static_cast<unsigned long long>(known),
              text_bytes / static_cast<double>(lines), joining.Seconds());
  return lines == known && lines + erased == decisions ? 0 : 1;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  const std::uint64_t decisions = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  return bandana::bench::Main(std::max<std::uint64_t>(decisions, 10'000));
}
