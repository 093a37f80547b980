#include "server/service/outcomes.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/service/agreed_policy.h"
#include "server/service/new_users.h"
#include "server/service/report_call.h"

namespace bandana::server {
namespace {

bool Fits(const SelectingModel& model, const Decision& decision) {
  return decision.epoch == model.epoch() &&
         static_cast<int>(decision.arms.front().features.size()) ==
             model.spec().public_spec.dimension;
}

// Puts the report's decision in its place, and the report with the model that made it. Errors:
// UNAVAILABLE the token could not be looked at.
absl::Status Add(ReportTargets& to, TokenCodec& tokens, const std::string& token,
                 ReportedOutcome outcome, OpenedReports<ReportedOutcome>& opened) {
  absl::StatusOr<AskedDecision> decision = tokens.Open(token);
  if (absl::IsUnavailable(decision.status())) return decision.status();
  if (!decision.ok()) {
    opened.Refuse(v1::TOKEN_INVALID);
    return absl::OkStatus();
  }
  const absl::StatusOr<ServedModel*> maker = to.MakerOf(*decision);
  if (!maker.ok()) {
    opened.Fail(maker.status());
  } else if (*maker == nullptr || !Fits(**maker, *decision)) {
    opened.Refuse(v1::TOKEN_FOREIGN);
  } else if (!AllowReport(**maker, decision->user)) {
    opened.Refuse(v1::USER_LIMIT);
  } else {
    outcome.decision = *std::move(decision);
    opened.Add(**maker, std::move(outcome));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenedReports<ReportedOutcome>> Open(ReportTargets& to,
                                                    const v1::ReportRequest& request,
                                                    int outcomes_max, TokenCodec& tokens) {
  BANDANA_RETURN_IF_ERROR(CheckCount("outcomes", request.outcomes_size(), outcomes_max));
  OpenedReports<ReportedOutcome> opened;
  int index = 0;
  for (const v1::Outcome& outcome : request.outcomes()) {
    BANDANA_ASSIGN_OR_RETURN(const std::optional<std::string> token, TokenOf(to, index++, outcome));
    if (!token) {
      opened.Refuse(v1::DECISION_UNKNOWN);
      continue;
    }
    ReportedOutcome reported{.decision = {}, .shown = outcome.shown()};
    if (outcome.has_reward()) reported.reward = outcome.reward();
    BANDANA_RETURN_IF_ERROR(Add(to, tokens, *token, std::move(reported), opened));
  }
  return opened;
}

absl::StatusOr<OpenedReports<ReportedOutcome>> Open(ReportTargets& to,
                                                    const v1::SubmitRequest& request,
                                                    int reports_max, TokenCodec& tokens) {
  if (request.context_reports_size() > 0) {
    return FailedPrecondition("context_reports: the model is LOCAL_REWARD");
  }
  if (request.counter_reports_size() > 0) {
    return FailedPrecondition("counter_reports: the model's mechanism is no counter");
  }
  BANDANA_RETURN_IF_ERROR(CheckCount("reports", request.reports_size(), reports_max));
  BANDANA_RETURN_IF_ERROR(RequirePolicy(request.policy_hash()));
  OpenedReports<ReportedOutcome> opened;
  for (const v1::PerturbedReport& report : request.reports()) {
    ReportedOutcome reported{.decision = {},
                             .shown = report.shown(),
                             .reward = {},
                             .output = report.output(),
                             .whole_range = report.whole_range()};
    BANDANA_RETURN_IF_ERROR(Add(to, tokens, report.token(), std::move(reported), opened));
  }
  return opened;
}

}  // namespace

absl::StatusOr<std::optional<std::string>> TokenOf(const ReportTargets& to, int index,
                                                   const v1::Outcome& outcome) {
  if (outcome.decision_id().empty()) {
    if (outcome.slot() == 0) return outcome.token();
    return InvalidArgument("outcomes[", index, "].slot: must be 0 without decision_id, got ",
                           outcome.slot(), ": each slot has a token of its own");
  }
  if (!outcome.token().empty()) {
    return InvalidArgument("outcomes[", index, "]: token and decision_id exclude each other");
  }
  std::vector<std::string> tokens = to.TokensOf(outcome.decision_id());
  if (outcome.slot() >= tokens.size()) return std::nullopt;
  return std::move(tokens[outcome.slot()]);
}

void TakeRewards(ReportTargets& to, const v1::ReportRequest& request, int outcomes_max,
                 TokenCodec& tokens, v1::ReportResponse& response, Finish finish) {
  HandReports(to, Open(to, request, outcomes_max, tokens), ResultsOf(response), std::move(finish));
}

void SubmitOutputs(ReportTargets& to, const v1::SubmitRequest& request, int reports_max,
                   TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  HandReports(to, Open(to, request, reports_max, tokens), ResultsOf(response), std::move(finish));
}

}  // namespace bandana::server
