// Events a second of a model with the standard effects, on one core, through the state machine of a
// server without its disk:
//   ./dev bench effects [--users 1000000 --arms 1000000 --events 10000000]
// An event is its log entry appended (hashed, decoded, its id remembered for ten minutes at 1,000
// events per second), learnt and published. The last line is `events_per_second=N update_us_p99=X
// select10_us=X rss_mib=N`. Drawing the events is not counted. Rates and means are of the thread's
// CPU time, the percentile of wall time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/measure.h"
#include "bench/zipf_events.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/base/check.h"
#include "common/ranking/scoring.h"

ABSL_FLAG(int, users, 1'000'000, "users, by Zipf's law");
ABSL_FLAG(int, arms, 1'000'000, "arms, by Zipf's law");
ABSL_FLAG(std::int64_t, events, 10'000'000, "in all");
ABSL_FLAG(int, dimension, 25, "of the features");
ABSL_FLAG(int, levels, 8, "of groups of users: 20000, 10000, ...");
ABSL_FLAG(bool, weights, true, "the model's effects have weights");
ABSL_FLAG(bool, pairs, false, "and there is one of each user and arm");
ABSL_FLAG(int, selects, 200'000, "decisions of 10 arms that are timed after the events");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatch = 1000;  // events drawn before they are learnt
constexpr int kArms = 10;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

class Bench {
 public:
  explicit Bench(const ZipfOptions& options)
      : events_(options), core_(MakeZipfModel(options)), served_(core_->Served()) {}

  void Learn(std::int64_t events) {
    std::vector<std::string> records;
    std::vector<float> micros;
    micros.reserve(events);
    double total = 0;
    ZipfEvent event;
    for (std::int64_t done = 0; done < events; done += kBatch) {
      records.clear();
      for (int i = 0; i < kBatch; ++i) {
        if (log_.due()) Append(log_.Time());
        events_.Next(event);
        records.push_back(log_.Outcome(event));
      }
      const double start = CpuSeconds();
      auto last = Clock::now();
      for (std::string& record : records) {
        Append(std::move(record));
        served_ = core_->Served();
        const auto now = Clock::now();
        micros.push_back(static_cast<float>(1e6 * Seconds(now - last)));
        last = now;
      }
      total += CpuSeconds() - start;
    }
    std::sort(micros.begin(), micros.end());
    events_per_second_ = static_cast<double>(micros.size()) / total;
    update_us_p99_ = micros[micros.size() * 99 / 100];
    std::printf("update_us mean=%.2f p50=%.2f max=%.0f model_mib=%.0f\n", 1e6 / events_per_second_,
                micros[micros.size() / 2], micros.back(),
                static_cast<double>(core_->state().effects->bytes()) / (1 << 20));
  }

  // Another user per decision.
  void Select(int selects) {
    std::vector<std::vector<EffectKey>> users(kBatch);
    std::vector<EffectKey> arms(kBatch * kArms);
    std::vector<std::vector<double>> features(kBatch * kArms);
    std::vector<EffectKey> arm;
    NodePosterior scratch;
    ArmScores scores;
    double best = 0;
    double total = 0;
    int done = 0;
    for (; done < selects; done += kBatch) {
      for (auto& parts : users) events_.DrawUser(parts);
      for (EffectKey& key : arms) {
        events_.DrawArm(arm);
        key = arm[0];
      }
      for (auto& x : features) events_.DrawFeatures(x);
      const double start = CpuSeconds();
      for (int n = 0; n < kBatch; ++n) {
        const double* x[kArms];
        for (int a = 0; a < kArms; ++a) x[a] = features[n * kArms + a].data();
        served_->Score({.keys = users[n]},
                       {.features = x, .keys = std::span(arms).subspan(n * kArms, kArms)}, scratch,
                       scores);
        best = std::max(best, *std::max_element(scores.scores.begin(), scores.scores.end()));
      }
      total += CpuSeconds() - start;
    }
    select10_us_ = 1e6 * total / done;
    std::printf("best score %.3f\n", best);
  }

  void Print() const {
    std::printf("events_per_second=%.0f update_us_p99=%.2f select10_us=%.2f rss_mib=%.0f\n",
                events_per_second_, update_us_p99_, select10_us_, rss_mib_);
  }
  void Measure() { rss_mib_ = ResidentMib(); }

 private:
  void Append(std::string record) { BANDANA_CHECK(core_->Append(std::move(record)).ok()); }

  ZipfEvents events_;
  ZipfLog log_;
  const std::unique_ptr<ModelCore> core_;
  std::shared_ptr<const ServedPosterior> served_;
  double events_per_second_ = 0;
  double update_us_p99_ = 0;
  double select10_us_ = 0;
  double rss_mib_ = 0;
};

int Main() {
  const ZipfOptions options{.users = absl::GetFlag(FLAGS_users),
                            .arms = absl::GetFlag(FLAGS_arms),
                            .dimension = absl::GetFlag(FLAGS_dimension),
                            .levels = absl::GetFlag(FLAGS_levels),
                            .weights = absl::GetFlag(FLAGS_weights),
                            .pairs = absl::GetFlag(FLAGS_pairs)};
  Bench bench(options);
  bench.Learn(absl::GetFlag(FLAGS_events));
  bench.Measure();
  bench.Select(absl::GetFlag(FLAGS_selects));
  bench.Print();
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
