#include "server/ops/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
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
    auto& totals = prometheus::BuildCounter()
                       .Name("bandana_calls_total")
                       .Help("Calls answered, by method and status code")
                       .Register(registry);
    auto& durations = prometheus::BuildHistogram()
                          .Name("bandana_call_duration_seconds")
                          .Help("Time from taking a call in to handing its answer to gRPC")
                          .Register(registry);
    for (int m = 0; m < kMethods; ++m) {
      const std::string method(MethodName(static_cast<Method>(m)));
      duration[m] = &durations.Add({{"method", method}}, kBuckets);
      for (std::size_t c = 0; c < kCodes.size(); ++c) {
        total[m][c] = &totals.Add({{"method", method}, {"code", kCodes[c]}});
      }
    }
  }

  prometheus::Registry registry;
  std::array<std::array<prometheus::Counter*, kCodes.size()>, kMethods> total{};
  std::array<prometheus::Histogram*, kMethods> duration{};
};

Metrics::Metrics() : calls_(std::make_unique<Calls>()) {}
Metrics::~Metrics() = default;

void Metrics::OnCall(Method method, int status_code, absl::Duration duration) {
  constexpr std::size_t kUnknown = 2;
  const auto code = static_cast<std::size_t>(status_code);
  const auto m = static_cast<std::size_t>(method);
  calls_->total[m][code < kCodes.size() ? code : kUnknown]->Increment();
  calls_->duration[m]->Observe(absl::ToDoubleSeconds(duration));
}

std::string Metrics::Render(const ServerView& view, const ProcessStats& process) const {
  std::vector<prometheus::MetricFamily> families = calls_->registry.Collect();
  AppendServerFamilies(view, process, families);
  AppendModelFamilies(view.models, families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace bandana::server
