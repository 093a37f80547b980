#include "server/service/counter_reports.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/service/new_users_of_call.h"
#include "server/service/report_call.h"

namespace bandana::server {
namespace {

absl::Status CheckShape(const HostedModel& model, const v1::SubmitRequest& request, int steps_max) {
  if (request.context_reports_size() > 0) {
    return FailedPrecondition("context_reports: the model is LOCAL_REWARD");
  }
  if (request.reports_size() > 0) {
    return FailedPrecondition("reports: the model's mechanism is COUNTER");
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("counter_reports", request.counter_reports_size(), steps_max));
  const int dimension = model.spec().public_spec.dimension;
  int steps = 0;
  for (const v1::CounterReport& report : request.counter_reports()) {
    if (report.stream().size() != sizeof(ReportedCounter::stream)) {
      return InvalidArgument("stream: must have 16 bytes, got ", report.stream().size());
    }
    if (report.moment_size() != dimension) {
      return InvalidArgument("moment: must have ", dimension, " entries, got ",
                             report.moment_size());
    }
    if (report.steps_size() < 1 ||
        static_cast<std::uint64_t>(report.steps_size()) > report.step()) {
      return InvalidArgument("steps: must be 1 to step = ", report.step(), ", got ",
                             report.steps_size());
    }
    steps += report.steps_size();
  }
  return CheckCount("steps", steps, steps_max);
}

// The report with its tokens opened; `foreign`: one of them is of another model, instance or epoch.
// Errors: UNAVAILABLE a token could not be looked at.
absl::StatusOr<ReportedCounter> OpenTokens(const HostedModel& model,
                                           const v1::CounterReport& report, TokenCodec& tokens,
                                           bool& foreign) {
  ReportedCounter out;
  std::memcpy(out.stream.data(), report.stream().data(), out.stream.size());
  out.step = report.step();
  out.moment.assign(report.moment().begin(), report.moment().end());
  for (const v1::CounterStep& step : report.steps()) {
    absl::StatusOr<Decision> decision = tokens.Open(step.token());
    if (absl::IsUnavailable(decision.status())) return decision.status();
    out.shown.push_back(step.shown());
    std::optional<Decision>& opened = out.decisions.emplace_back();
    if (!decision.ok()) continue;
    opened = *std::move(decision);
    foreign = foreign || opened->instance != model.instance() || opened->epoch != model.epoch();
  }
  return out;
}

// The tokens of a stream are one user's, or the model refuses them.
bool AllowUser(const ReportedCounter& report, NewUsersOfCall& new_users) {
  for (const std::optional<Decision>& decision : report.decisions) {
    if (decision) return new_users.AllowReport(decision->user);
  }
  return true;
}

absl::StatusOr<OpenedReports<ReportedCounter>> Open(const HostedModel& model,
                                                    const v1::SubmitRequest& request, int steps_max,
                                                    TokenCodec& tokens) {
  BANDANA_RETURN_IF_ERROR(CheckShape(model, request, steps_max));
  BANDANA_RETURN_IF_ERROR(CheckPolicy(model, request));
  OpenedReports<ReportedCounter> opened;
  NewUsersOfCall new_users(model);
  for (const v1::CounterReport& report : request.counter_reports()) {
    bool foreign = false;
    BANDANA_ASSIGN_OR_RETURN(ReportedCounter out, OpenTokens(model, report, tokens, foreign));
    const v1::RejectReason reason = foreign                      ? v1::TOKEN_FOREIGN
                                    : !AllowUser(out, new_users) ? v1::USER_LIMIT
                                                                 : v1::REJECT_REASON_UNSPECIFIED;
    opened.reasons.push_back(reason);
    if (reason == v1::REJECT_REASON_UNSPECIFIED) opened.reports.push_back(std::move(out));
  }
  return opened;
}

}  // namespace

void SubmitCounters(HostedModel& model, const v1::SubmitRequest& request, int steps_max,
                    TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  HandReports(
      model, Open(model, request, steps_max, tokens),
      [&response](const ReportResult& result) {
        v1::CounterResult& out = *response.add_counter_results();
        out.set_code(result.code);
        out.set_reason(result.reason);
        out.set_acknowledged_step(result.acknowledged_step);
      },
      std::move(finish));
}

}  // namespace bandana::server
