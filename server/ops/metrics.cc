#include "server/ops/metrics.h"

#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "server/ops/model_families.h"

namespace bandana::server {
namespace {

// grpc::StatusCode, in order.
constexpr std::array<const char*, 17> kCodes = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// Seconds. A Select takes tens of microseconds, a Report a sync of 0.2 to 4 ms; 2.5 s is a stuck
// disk.
const prometheus::Histogram::BucketBoundaries kBuckets = {
    25e-6,  50e-6,   100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3, 3.2e-3,
    6.4e-3, 12.8e-3, 25e-3,  50e-3,  100e-3, 250e-3, 1.0,    2.5};

}  // namespace

struct Metrics::Calls {
  Calls() {
    auto& durations = prometheus::BuildHistogram()
                          .Name("bandana_call_duration_seconds")
                          .Help("Time from taking a call in to handing its answer to gRPC")
                          .Register(registry);
    for (int m = 0; m < kMethods; ++m) {
      const std::string method(MethodName(static_cast<Method>(m)));
      duration[m] = &durations.Add({{"method", method}}, kBuckets);
    }
  }

  // OK of every method, and the other codes that occurred.
  prometheus::MetricFamily Totals() const {
    prometheus::MetricFamily family;
    family.name = "bandana_calls_total";
    family.help = "Calls answered, by method and status code";
    family.type = prometheus::MetricType::Counter;
    for (int m = 0; m < kMethods; ++m) {
      for (std::size_t c = 0; c < kCodes.size(); ++c) {
        const std::uint64_t count = total[m][c].load(std::memory_order_relaxed);
        if (count == 0 && c != 0) continue;
        prometheus::ClientMetric metric;
        metric.label = {{"method", std::string(MethodName(static_cast<Method>(m)))},
                        {"code", kCodes[c]}};
        metric.counter.value = static_cast<double>(count);
        family.metric.push_back(std::move(metric));
      }
    }
    return family;
  }

  prometheus::Registry registry;
  std::array<std::array<std::atomic<std::uint64_t>, kCodes.size()>, kMethods> total{};
  std::array<prometheus::Histogram*, kMethods> duration{};
};

Metrics::Metrics() : calls_(std::make_unique<Calls>()) {}
Metrics::~Metrics() = default;

void Metrics::OnCall(Method method, int status_code, absl::Duration duration) {
  constexpr std::size_t kUnknown = 2;
  const auto code = static_cast<std::size_t>(status_code);
  const auto m = static_cast<std::size_t>(method);
  calls_->total[m][code < kCodes.size() ? code : kUnknown].fetch_add(1, std::memory_order_relaxed);
  calls_->duration[m]->Observe(absl::ToDoubleSeconds(duration));
}

CallTotals Metrics::Totals() const {
  CallTotals totals{.bounds = kBuckets};
  for (int m = 0; m < kMethods; ++m) {
    std::uint64_t before = 0;
    for (const auto& bucket : calls_->duration[m]->Collect().histogram.bucket) {
      totals.buckets[m].push_back(bucket.cumulative_count - before);
      before = bucket.cumulative_count;
    }
  }
  return totals;
}

std::string Metrics::Render(const ServerView& view, const ProcessStats& process) const {
  std::vector<prometheus::MetricFamily> families = calls_->registry.Collect();
  families.push_back(calls_->Totals());
  AppendServerFamilies(view, process, families);
  AppendModelFamilies(view.models, families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace bandana::server
