#include "server/service/outcomes.h"

#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/service/new_users_of_call.h"
#include "server/service/report_call.h"

namespace bandana::server {
namespace {

v1::RejectReason ReasonOf(const HostedModel& model, const absl::StatusOr<Decision>& decision) {
  if (!decision.ok()) return v1::TOKEN_INVALID;
  if (decision->instance != model.instance() || decision->epoch != model.epoch() ||
      static_cast<int>(decision->arms.front().features.size()) !=
          model.spec().public_spec.dimension) {
    return v1::TOKEN_FOREIGN;
  }
  return v1::REJECT_REASON_UNSPECIFIED;
}

// Puts the report's decision in its place. Errors: UNAVAILABLE the token could not be looked at.
absl::Status Add(const HostedModel& model, TokenCodec& tokens, const std::string& token,
                 ReportedOutcome outcome, NewUsersOfCall& new_users,
                 OpenedReports<ReportedOutcome>& opened) {
  absl::StatusOr<Decision> decision = tokens.Open(token);
  if (absl::IsUnavailable(decision.status())) return decision.status();
  v1::RejectReason reason = ReasonOf(model, decision);
  if (reason == v1::REJECT_REASON_UNSPECIFIED && !new_users.AllowReport(decision->user)) {
    reason = v1::USER_LIMIT;
  }
  opened.reasons.push_back(reason);
  if (opened.reasons.back() == v1::REJECT_REASON_UNSPECIFIED) {
    outcome.decision = *std::move(decision);
    opened.reports.push_back(std::move(outcome));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenedReports<ReportedOutcome>> Open(const HostedModel& model,
                                                    const v1::ReportRequest& request,
                                                    int outcomes_max, TokenCodec& tokens) {
  BANDANA_RETURN_IF_ERROR(CheckCount("outcomes", request.outcomes_size(), outcomes_max));
  OpenedReports<ReportedOutcome> opened;
  NewUsersOfCall new_users(model);
  for (const v1::Outcome& outcome : request.outcomes()) {
    ReportedOutcome reported{.decision = {}, .shown = outcome.shown()};
    if (outcome.has_reward()) reported.reward = outcome.reward();
    BANDANA_RETURN_IF_ERROR(
        Add(model, tokens, outcome.token(), std::move(reported), new_users, opened));
  }
  return opened;
}

absl::StatusOr<OpenedReports<ReportedOutcome>> Open(const HostedModel& model,
                                                    const v1::SubmitRequest& request,
                                                    int reports_max, TokenCodec& tokens) {
  if (request.context_reports_size() > 0) {
    return FailedPrecondition("context_reports: the model is LOCAL_REWARD");
  }
  if (request.counter_reports_size() > 0) {
    return FailedPrecondition("counter_reports: the model's mechanism is no counter");
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("reports", request.reports_size(), reports_max));
  BANDANA_RETURN_IF_ERROR(CheckPolicy(model, request));
  OpenedReports<ReportedOutcome> opened;
  NewUsersOfCall new_users(model);
  for (const v1::PerturbedReport& report : request.reports()) {
    ReportedOutcome reported{.decision = {},
                             .shown = report.shown(),
                             .reward = {},
                             .output = report.output(),
                             .whole_range = report.whole_range()};
    BANDANA_RETURN_IF_ERROR(
        Add(model, tokens, report.token(), std::move(reported), new_users, opened));
  }
  return opened;
}

}  // namespace

void TakeRewards(HostedModel& model, const v1::ReportRequest& request, int outcomes_max,
                 TokenCodec& tokens, v1::ReportResponse& response, Finish finish) {
  HandReports(model, Open(model, request, outcomes_max, tokens), ResultsOf(response),
              std::move(finish));
}

void SubmitOutputs(HostedModel& model, const v1::SubmitRequest& request, int reports_max,
                   TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  HandReports(model, Open(model, request, reports_max, tokens), ResultsOf(response),
              std::move(finish));
}

}  // namespace bandana::server
