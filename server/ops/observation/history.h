// What the server did lately: samples in memory for the status page. Nothing durable, no reward of
// a private model.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/metrics.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// What one model did since the last sample.
struct ModelSample {
  double reports_per_second = 0;
  std::optional<double> reward_mean;     // non-private models: of the reports; nothing without any
  std::optional<double> posterior_norm;  // private models: mean of |m_u| over the nodes looked at
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
  std::map<std::string, ModelSample> models;
};

// Threads: all methods are safe. Memory: kSamples samples of one number per model and figure.
class History {
 public:
  static constexpr std::size_t kSamples = 720;  // an hour of
  static constexpr absl::Duration kInterval = absl::Seconds(5);

  // Takes a sample when kInterval has passed since the last one; the first call only starts.
  void Tick(const ServerView& view, const CallTotals& totals, std::uint64_t resident_bytes,
            absl::Time now);
  std::vector<Sample> Read() const;

 private:
  struct Start {
    absl::Time at;
    CallTotals totals;
    std::map<std::string, ModelView> models;
  };

  mutable std::mutex mutex_;
  std::optional<Start> start_;
  std::deque<Sample> samples_;
};

// The value below which the share `q` of the observations lies, within a bucket in proportion;
// nothing without observations. `counts` of the buckets up to each of `bounds`, the last one beyond
// all of them counts as at the last bound.
std::optional<double> Quantile(const std::vector<double>& bounds,
                               const std::vector<std::uint64_t>& counts, double q);

}  // namespace bandana::server
