#include "server/ops/spans.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/version.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"

namespace bandana::server {
namespace {

using nlohmann::json;

constexpr int kServerKind = 2;  // SPAN_KIND_SERVER
constexpr int kErrorCode = 2;   // STATUS_CODE_ERROR

json Text(const char* key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", std::string(value)}}}};
}

std::string ServiceOf(const CallRecord& record) {
  if (record.admin) return "bandana.v1.Admin";
  const bool health = record.method == "Check" || record.method == "Watch";
  return health ? "grpc.health.v1.Health" : "bandana.v1.Recommender";
}

// 64-bit numbers are text in OTLP's JSON.
std::string Nanoseconds(absl::Time time) { return absl::StrCat(absl::ToUnixNanos(time)); }

json SpanOf(const CallSpan& span) {
  const CallRecord& record = span.record;
  const std::string service = ServiceOf(record);
  json attributes = json::array({Text("rpc.service", service), Text("rpc.method", record.method)});
  attributes.push_back({{"key", "rpc.grpc.status_code"},
                        {"value", {{"intValue", absl::StrCat(record.status_code)}}}});
  const std::pair<const char*, std::string_view> names[] = {
      {"bandana.caller", record.caller},
      {"bandana.model", record.model},
      {"bandana.request_id", record.request_id}};
  for (const auto& [key, value] : names) {
    if (!value.empty()) attributes.push_back(Text(key, value));
  }
  json out = {{"traceId", record.trace_id},
              {"spanId", span.id},
              {"parentSpanId", record.parent_id},
              {"name", absl::StrCat(service, "/", std::string(record.method))},
              {"kind", kServerKind},
              {"startTimeUnixNano", Nanoseconds(span.end - record.duration)},
              {"endTimeUnixNano", Nanoseconds(span.end)},
              {"attributes", std::move(attributes)},
              {"status", json::object()}};
  if (FaultOf(record.status_code) == Fault::kServer) out["status"] = {{"code", kErrorCode}};
  return out;
}

}  // namespace

std::string OtlpJson(std::span<const CallSpan> spans) {
  json list = json::array();
  for (const CallSpan& span : spans) list.push_back(SpanOf(span));
  const json scope = {{"scope", {{"name", "bandana-server"}, {"version", kVersion}}},
                      {"spans", std::move(list)}};
  const json resource = {{"attributes", json::array({Text("service.name", "bandana-server"),
                                                     Text("service.version", kVersion)})}};
  return JsonText({{"resourceSpans", json::array({{{"resource", resource},
                                                   {"scopeSpans", json::array({scope})}}})}});
}

void SpanQueue::Write(const CallRecord& record) {
  CallSpan span{.record = record, .id = NewRequestId(), .end = clock_.Now()};
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kSpansMax) {
    ++figures_.dropped;
    return;
  }
  waiting_.push_back(std::move(span));
}

std::vector<CallSpan> SpanQueue::Take(std::size_t most) {
  const std::lock_guard lock(mutex_);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(most, waiting_.size()));
  std::vector<CallSpan> taken(std::make_move_iterator(waiting_.begin()),
                              std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return taken;
}

void SpanQueue::Sent(std::uint64_t spans) {
  const std::lock_guard lock(mutex_);
  figures_.sent += spans;
}

void SpanQueue::Dropped(std::uint64_t spans) {
  const std::lock_guard lock(mutex_);
  figures_.dropped += spans;
}

SpanQueue::Figures SpanQueue::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace bandana::server
