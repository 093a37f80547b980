// Events a second of a model with the standard effects, on one core:
//   ./dev bench effects [--users 1000000 --arms 1000000 --events 10000000]
// The last line is `events_per_second=N update_us_p99=X select10_us=X rss_mib=N`. Drawing
// the events is not counted. Rates and means are of the thread's CPU time, the percentile of wall
// time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/zipf_events.h"
#include "common/bandits/effects/effects_model.h"
#include "common/bandits/scoring.h"

ABSL_FLAG(int, users, 1'000'000, "users, by Zipf's law");
ABSL_FLAG(int, arms, 1'000'000, "arms, by Zipf's law");
ABSL_FLAG(std::int64_t, events, 10'000'000, "in all");
ABSL_FLAG(int, dimension, 25, "of the features");
ABSL_FLAG(int, levels, 8, "of groups of users: 20000, 10000, ...");
ABSL_FLAG(int, selects, 200'000, "decisions of 10 arms that are timed after the events");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Time of this thread: other programs on the core do not count.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr int kBatch = 1000;  // events drawn before they are learnt
constexpr int kArms = 10;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

double ResidentMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

// Shared, constant, one per level, user, arm; default scales for rewards in [0, 1].
struct Standard {
  std::vector<Effect> effects;
  std::vector<EffectScope> scopes;
};
Standard StandardEffects(int levels) {
  Standard list{.effects = {{"shared", true, 0.1}, {"constant", false, 0.1}}, .scopes = {{}, {}}};
  for (int level = 0; level < levels; ++level) {
    list.effects.push_back({"level" + std::to_string(level), true, 0.08 / levels});
    list.scopes.push_back({.user = 1 + level});
  }
  list.effects.push_back({"user", true, 0.02});
  list.scopes.push_back({.user = 0});
  list.effects.push_back({"arm", false, 0.03});
  list.scopes.push_back({.arm = 0});
  return list;
}

class Bench {
 public:
  Bench(const ZipfOptions& options)
      : events_(options),
        list_(StandardEffects(options.levels)),
        model_(*EffectsModel::Create(options.dimension, list_.effects, 0.1)),
        keys_(list_.effects.size()) {}

  void Learn(std::int64_t events) {
    std::vector<ZipfEvent> batch(kBatch);
    std::vector<float> micros;
    micros.reserve(events);
    double total = 0;
    for (std::int64_t done = 0; done < events; done += kBatch) {
      for (ZipfEvent& event : batch) events_.Next(event);
      const double start = CpuSeconds();
      auto last = Clock::now();
      for (const ZipfEvent& event : batch) {
        for (std::size_t t = 0; t < keys_.size(); ++t) {
          keys_[t] = KeyOf(list_.scopes[t], event.user, event.arm);
        }
        model_.Learn(keys_, event.x, event.reward, 0);
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
                static_cast<double>(model_.bytes()) / (1 << 20));
  }

  // Another user per decision.
  void Select(int selects, int dimension) {
    std::vector<std::vector<EffectKey>> users(kBatch);
    std::vector<std::vector<EffectKey>> arms(kBatch * kArms);
    std::vector<std::vector<double>> features(kBatch * kArms);
    NodePosterior user;
    user.mean.resize(dimension);
    user.covariance.resize(dimension * dimension);
    user.alpha = 0.2;
    ArmScores scores;
    double best = 0;
    double total = 0;
    int done = 0;
    for (; done < selects; done += kBatch) {
      for (auto& parts : users) events_.DrawUser(parts);
      for (auto& parts : arms) events_.DrawArm(parts);
      for (auto& x : features) events_.DrawFeatures(x);
      const double start = CpuSeconds();
      for (int n = 0; n < kBatch; ++n) {
        for (std::size_t t = 0; t < keys_.size(); ++t) {
          const EffectScope& scope = list_.scopes[t];
          keys_[t] = scope.arm == EffectScope::kNone ? KeyOf(scope, users[n], {}) : kAbsent;
        }
        std::vector<EffectKey> arm_keys(keys_.size(), kAbsent);
        for (int a = 0; a < kArms; ++a) {
          arm_keys.back() = arms[n * kArms + a][0];
          model_.Prefetch(arm_keys);
        }
        model_.SumVectors(keys_, user.mean, user.covariance);
        const double* x[kArms];
        for (int a = 0; a < kArms; ++a) x[a] = features[n * kArms + a].data();
        ScoreArms(user, x, scores);
        for (int a = 0; a < kArms; ++a) {
          arm_keys.back() = arms[n * kArms + a][0];
          const EffectsModel::Belief arm = model_.SumConstants(arm_keys);
          const double width = std::sqrt(scores.widths[a] * scores.widths[a] + arm.variance);
          best = std::max(best, scores.means[a] + arm.mean + user.alpha * width);
        }
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
  ZipfEvents events_;
  Standard list_;
  EffectsModel model_;
  std::vector<EffectKey> keys_;
  double events_per_second_ = 0;
  double update_us_p99_ = 0;
  double select10_us_ = 0;
  double rss_mib_ = 0;
};

int Main() {
  const ZipfOptions options{.users = absl::GetFlag(FLAGS_users),
                            .arms = absl::GetFlag(FLAGS_arms),
                            .dimension = absl::GetFlag(FLAGS_dimension),
                            .levels = absl::GetFlag(FLAGS_levels)};
  Bench bench(options);
  bench.Learn(absl::GetFlag(FLAGS_events));
  bench.Measure();
  bench.Select(absl::GetFlag(FLAGS_selects), options.dimension);
  bench.Print();
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
