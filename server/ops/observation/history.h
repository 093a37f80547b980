// The server's recent activity: samples in memory for the status page. Nothing durable, no reward
// of a private model.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/metrics.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// One model's activity since the last sample. Nothing of times when there was no such model.
struct ModelSample {
  std::optional<float> reports_per_second;
  std::optional<float> apply_lag;       // entries, when the sample was taken
  std::optional<float> reward_mean;     // non-private models: of the reports; nothing without any
  std::optional<float> posterior_norm;  // private models: mean of |m_u| over the nodes looked at
};

struct Sample {
  absl::Time at;
  double selections_per_second = 0;  // decisions of Select and BatchSelect calls count as calls
  double reports_per_second = 0;     // Report and Submit calls
  // Seconds; nothing without calls.
  std::optional<double> select_p50;
  std::optional<double> select_p99;
  std::optional<double> report_p50;
  std::optional<double> report_p99;
  std::uint64_t resident_bytes = 0;
};

// Oldest first.
struct Series {
  std::vector<Sample> samples;
  std::map<std::string, std::vector<ModelSample>> models;  // those of the last tick, as many each
};

// Samples at an interval, the last `slots` of them. Its memory is taken when it is made and when a
// model appears, and given back when the model goes. Not thread-safe.
class SampleRing {
 public:
  struct Shape {
    absl::Duration interval;
    std::size_t slots = 0;
    absl::Duration span() const { return slots * interval; }
  };

  explicit SampleRing(const Shape& shape);

  // Takes a sample when the interval has passed since the last one, or all but half a second of it:
  // ticks are never exact. The first call only starts. A clock that was set back begins anew.
  void Tick(const ServerView& view, const CallTotals& totals, std::uint64_t resident_bytes,
            absl::Time now);
  Series Read() const;

 private:
  // The counts from which samples have the differences.
  struct ModelCounts {
    std::uint64_t reports_applied = 0;
    std::optional<RewardTotals> rewards;
  };
  struct Start {
    absl::Time at;
    CallTotals totals;
    std::map<std::string, ModelCounts> models;
  };

  Sample SampleOf(const CallTotals& totals, std::uint64_t resident_bytes, absl::Time now) const;
  ModelSample SampleOf(const ModelView& model, double seconds) const;
  void PutModels(const std::vector<ModelView>& models, double seconds);

  const Shape shape_;
  std::optional<Start> start_;
  std::vector<Sample> samples_;                             // `slots`, in a circle
  std::map<std::string, std::vector<ModelSample>> models_;  // the same slots
  std::size_t next_ = 0;                                    // slot
  std::size_t taken_ = 0;                                   // slots
};

// Threads: all methods are safe. Memory: 660 samples, 21 kB for each model.
class History {
 public:
  static constexpr SampleRing::Shape kRecent = {absl::Seconds(1), 300};  // five minutes
  static constexpr SampleRing::Shape kHour = {absl::Seconds(10), 360};

  // To be called about once per second.
  void Tick(const ServerView& view, const CallTotals& totals, std::uint64_t resident_bytes,
            absl::Time now);

  Series Recent() const;
  Series Hour() const;

 private:
  mutable std::mutex mutex_;
  SampleRing recent_{kRecent};
  SampleRing hour_{kHour};
};

// The value below which the share `q` of the observations lies, within a bucket in proportion;
// nothing without observations. `counts` of the buckets up to each of `bounds`, the last one beyond
// all of them counts as at the last bound.
std::optional<double> Quantile(const std::vector<double>& bounds,
                               const std::vector<std::uint64_t>& counts, double q);

}  // namespace bandana::server
