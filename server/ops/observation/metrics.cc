#include "server/ops/observation/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "server/ops/observation/model_families.h"

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

// Entries and records: a power of four each, up to the log's queue.
const prometheus::Histogram::BucketBoundaries kDepthBuckets = {0,   1,    4,    16,   64,
                                                               256, 1024, 4096, 16384};

constexpr std::array<const char*, kCallClasses> kClassNames = {"select", "report"};

const char* CodeName(int status_code) {
  constexpr std::size_t kUnknown = 2;
  const auto code = static_cast<std::size_t>(status_code);
  return kCodes[code < kCodes.size() ? code : kUnknown];
}

}  // namespace

struct Metrics::Calls {
  Calls() {
    auto& durations = prometheus::BuildHistogram()
                          .Name("bandana_call_duration_seconds")
                          .Help("Time from taking a call in to handing its answer to gRPC")
                          .Register(registry);
    for (const Rpc& rpc : QueueRpcs()) {
      duration.push_back(&durations.Add({{"method", std::string(rpc.method())}}, kBuckets));
    }
    auto& waits = prometheus::BuildHistogram()
                      .Name("bandana_call_wait_seconds")
                      .Help("Time from taking a call in to the start of its work, by class")
                      .Register(registry);
    for (int c = 0; c < kCallClasses; ++c) {
      wait[c] = &waits.Add({{"class", kClassNames[c]}}, kBuckets);
    }
    lag = &prometheus::BuildHistogram()
               .Name("bandana_apply_lag_entries")
               .Help(
                   "Durable log entries that are not in the statistics yet; sampled every second, "
                   "per model")
               .Register(registry)
               .Add({}, kDepthBuckets);
    log_queue = &prometheus::BuildHistogram()
                     .Name("bandana_log_queue_records")
                     .Help("Records that wait for the disk; sampled every second, per model")
                     .Register(registry)
                     .Add({}, kDepthBuckets);
    admin_duration = &prometheus::BuildHistogram()
                          .Name("bandana_admin_call_duration_seconds")
                          .Help("Time that calls of Admin took")
                          .Register(registry)
                          .Add({}, kBuckets);
  }

  // OK of every method, and the other codes that occurred.
  prometheus::MetricFamily Totals() const {
    prometheus::MetricFamily family;
    family.name = "bandana_calls_total";
    family.help = "Calls answered, by method and status code";
    family.type = prometheus::MetricType::Counter;
    for (const Rpc& rpc : QueueRpcs()) {
      for (std::size_t c = 0; c < kCodes.size(); ++c) {
        const std::uint64_t count = total[QueueIndex(rpc)][c].load(std::memory_order_relaxed);
        if (count == 0 && c != 0) continue;
        prometheus::ClientMetric metric;
        metric.label = {{"method", std::string(rpc.method())}, {"code", kCodes[c]}};
        metric.counter.value = static_cast<double>(count);
        family.metric.push_back(std::move(metric));
      }
    }
    return family;
  }

  prometheus::Registry registry;
  using ByCode = std::array<std::atomic<std::uint64_t>, kCodes.size()>;
  std::vector<ByCode> total = std::vector<ByCode>(QueueRpcs().size());  // by QueueIndex
  std::vector<prometheus::Histogram*> duration;                         // by QueueIndex
  std::array<prometheus::Histogram*, kCallClasses> wait{};
  prometheus::Histogram* lag = nullptr;
  prometheus::Histogram* log_queue = nullptr;
  prometheus::Histogram* admin_duration = nullptr;
  prometheus::Family<prometheus::Counter>& admin_calls =
      prometheus::BuildCounter()
          .Name("bandana_admin_calls_total")
          .Help("Calls of Admin answered, by method and status code")
          .Register(registry);
};

Metrics::Metrics() : calls_(std::make_unique<Calls>()) {}
Metrics::~Metrics() = default;

void Metrics::OnCall(const Rpc& rpc, int status_code, absl::Duration duration) {
  if (rpc.is_admin()) {
    calls_->admin_duration->Observe(absl::ToDoubleSeconds(duration));
    calls_->admin_calls
        .Add({{"method", std::string(rpc.method())}, {"code", CodeName(status_code)}})
        .Increment();
    return;
  }
  constexpr std::size_t kUnknown = 2;
  const auto code = static_cast<std::size_t>(status_code);
  const std::size_t m = QueueIndex(rpc);
  calls_->total[m][code < kCodes.size() ? code : kUnknown].fetch_add(1, std::memory_order_relaxed);
  calls_->duration[m]->Observe(absl::ToDoubleSeconds(duration));
}

void Metrics::OnStart(const Rpc& rpc, absl::Duration waited) {
  calls_->wait[static_cast<std::size_t>(rpc.call_class)]->Observe(absl::ToDoubleSeconds(waited));
}

void Metrics::Tick(const ServerView& view) {
  for (const ModelView& model : view.models) {
    calls_->lag->Observe(static_cast<double>(model.apply_lag()));
    calls_->log_queue->Observe(model.log_queue);
  }
}

CallTotals Metrics::Totals() const {
  CallTotals totals{.bounds = kBuckets};
  for (const prometheus::Histogram* duration : calls_->duration) {
    std::uint64_t before = 0;
    std::vector<std::uint64_t>& counts = totals.buckets.emplace_back();
    for (const auto& bucket : duration->Collect().histogram.bucket) {
      counts.push_back(bucket.cumulative_count - before);
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
