#include "server/service/context_reports.h"

#include <google/protobuf/unknown_field_set.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/status.h"
#include "common/promise/mechanism.h"
#include "server/service/agreed_policy.h"
#include "server/service/report_call.h"

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
  const ContextReports& form = *rules.made->contexts();
  BANDANA_RETURN_IF_ERROR(CheckBytes("report_id", report.report_id(), sizeof(ReportedContext::id)));
  BANDANA_RETURN_IF_ERROR(CheckBytes("seed", report.seed(), form.seed_size()));
  if (static_cast<std::size_t>(report.values_size()) != form.values_size()) {
    return InvalidArgument("values: must have ", form.values_size(), " entries, got ",
                           report.values_size());
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

constexpr std::uint64_t kNoEpoch = 0;  // epochs begin with 1

ReportedContext FromProto(const ResolvedModel& to, const v1::ContextReport& report) {
  ReportedContext out;
  std::memcpy(out.id.data(), report.report_id().data(), out.id.size());
  out.epoch = to.Own(report.epoch()).value_or(kNoEpoch);
  out.seed = report.seed();
  out.values.assign(report.values().begin(), report.values().end());
  return out;
}

absl::StatusOr<OpenedReports<ReportedContext>> OpenContexts(ReportTargets& to,
                                                            const v1::SubmitRequest& request,
                                                            int reports_max) {
  BANDANA_RETURN_IF_ERROR(CheckShape(to.first().spec().public_spec, request, reports_max));
  BANDANA_RETURN_IF_ERROR(RequirePolicy(request.policy_hash()));
  OpenedReports<ReportedContext> opened;
  for (const v1::ContextReport& report : request.context_reports()) {
    opened.Add(to.first(), FromProto(to.resolved(), report));
  }
  return opened;
}

}  // namespace

void SubmitContexts(ReportTargets& to, const v1::SubmitRequest& request, int reports_max,
                    v1::SubmitResponse& response, Finish finish) {
  HandReports(to, OpenContexts(to, request, reports_max), ResultsOf(response), std::move(finish));
}

}  // namespace bandana::server
