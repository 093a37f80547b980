#include "server/service/context_reports.h"

#include <google/protobuf/unknown_field_set.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/mechanisms/statistics_chain.h"
#include "server/service/counter_reports.h"

namespace bandana::server {
namespace {

bool HasUnknownFields(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

absl::Status CheckBytes(std::string_view field, std::string_view bytes, std::size_t size) {
  if (bytes.size() == size) return absl::OkStatus();
  return InvalidArgument(ToAbsl(field), ": must have ", size, " bytes, got ", bytes.size());
}

absl::Status CheckReport(const PublicSpec& rules, const v1::ContextReport& report) {
  if (HasUnknownFields(report)) {
    return InvalidArgument("context_reports: a field that this version does not know");
  }
  const bool seeded = rules.mechanism == v1::PRIVUNIT;
  const auto d = static_cast<std::size_t>(rules.dimension);
  const std::size_t values = seeded ? 0 : d * (d + 1) / 2 + d;
  BANDANA_RETURN_IF_ERROR(CheckBytes("report_id", report.report_id(), sizeof(ReportedContext::id)));
  BANDANA_RETURN_IF_ERROR(CheckBytes("seed", report.seed(), seeded ? sizeof(PublicSeed) : 0));
  if (static_cast<std::size_t>(report.values_size()) != values) {
    return InvalidArgument("values: must have ", values, " entries, got ", report.values_size());
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const PublicSpec& rules, const v1::SubmitRequest& request,
                        int reports_max) {
  if (request.reports_size() > 0 || request.counter_reports_size() > 0) {
    return InvalidArgument(request.reports_size() > 0 ? "reports" : "counter_reports",
                           ": the model is LOCAL_CONTEXT and takes context_reports only");
  }
  if (HasUnknownFields(request)) {
    return InvalidArgument("request: a field that this version does not know");
  }
  BANDANA_RETURN_IF_ERROR(
      CheckCount("context_reports", request.context_reports_size(), reports_max));
  absl::flat_hash_set<std::string_view> ids;
  for (const v1::ContextReport& report : request.context_reports()) {
    BANDANA_RETURN_IF_ERROR(CheckReport(rules, report));
    if (!ids.insert(report.report_id()).second) {
      return InvalidArgument("report_id: the same twice in a call");
    }
  }
  return absl::OkStatus();
}

ReportedContext FromProto(const v1::ContextReport& report) {
  ReportedContext out;
  std::memcpy(out.id.data(), report.report_id().data(), out.id.size());
  out.epoch = report.epoch();
  out.seed = report.seed();
  out.values.assign(report.values().begin(), report.values().end());
  return out;
}

}  // namespace

void SubmitContexts(HostedModel& model, const v1::SubmitRequest& request, int reports_max,
                    v1::SubmitResponse& response, Finish finish) {
  absl::Status checked = CheckShape(model.spec().public_spec, request, reports_max);
  if (checked.ok()) checked = CheckPolicy(model, request);
  if (!checked.ok()) return finish(checked);
  std::vector<ReportedContext> reports;
  for (const v1::ContextReport& report : request.context_reports()) {
    reports.push_back(FromProto(report));
  }
  const std::size_t count = reports.size();
  // The callback must not own the model (outcomes.cc).
  model.ReportContexts(std::move(reports), [count, &response, finish = std::move(finish)](
                                               absl::StatusOr<std::vector<ReportResult>> results) {
    if (!results.ok()) return finish(results.status());
    BANDANA_CHECK(results->size() == count);
    for (const ReportResult& result : *results) {
      v1::OutcomeResult& out = *response.add_results();
      out.set_code(result.code);
      out.set_reason(result.reason);
    }
    finish(absl::OkStatus());
  });
}

}  // namespace bandana::server
