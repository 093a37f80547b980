#include "server/service/counter_reports.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/service/agreed_policy.h"
#include "server/service/new_users.h"
#include "server/service/report_call.h"

namespace bandana::server {
namespace {

absl::Status CheckShape(const SelectingModel& model, const v1::SubmitRequest& request,
                        int steps_max) {
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

// A report with its tokens opened.
struct OpenedCounter {
  ReportedCounter report;
  ServedModel* model = nullptr;  // that made its decisions; null: none, or not one alone
  absl::Status failed;           // that model cannot be asked
};

// Errors: UNAVAILABLE a token could not be looked at.
absl::StatusOr<OpenedCounter> OpenTokens(ReportTargets& to, const v1::CounterReport& report,
                                         TokenCodec& tokens) {
  OpenedCounter out;
  std::memcpy(out.report.stream.data(), report.stream().data(), out.report.stream.size());
  out.report.step = report.step();
  out.report.moment.assign(report.moment().begin(), report.moment().end());
  std::optional<ServedModel*> maker;  // of the tokens so far
  for (const v1::CounterStep& step : report.steps()) {
    absl::StatusOr<AskedDecision> decision = tokens.Open(step.token());
    if (absl::IsUnavailable(decision.status())) return decision.status();
    out.report.shown.push_back(step.shown());
    std::optional<Decision>& opened = out.report.decisions.emplace_back();
    if (!decision.ok()) continue;
    const absl::StatusOr<ServedModel*> made = to.MakerOf(*decision);
    opened = *std::move(decision);
    out.failed.Update(made.status());
    if (!made.ok()) continue;
    const bool fits = *made != nullptr && opened->epoch == (*made)->epoch();
    if (!maker) maker = *made;
    if (!fits || *maker != *made) maker = nullptr;
  }
  // Without a token that opens the stream alone says whose it is.
  out.model = maker.value_or(&to.first());
  return out;
}

// The tokens of a stream are one user's, or the model refuses them.
bool AllowUser(const OpenedCounter& opened) {
  for (const std::optional<Decision>& decision : opened.report.decisions) {
    if (decision) return AllowReport(*opened.model, decision->user);
  }
  return true;
}

absl::StatusOr<OpenedReports<ReportedCounter>> OpenCounters(ReportTargets& to,
                                                            const v1::SubmitRequest& request,
                                                            int steps_max, TokenCodec& tokens) {
  BANDANA_RETURN_IF_ERROR(CheckShape(to.first(), request, steps_max));
  BANDANA_RETURN_IF_ERROR(RequirePolicy(request.policy_hash()));
  OpenedReports<ReportedCounter> opened;
  for (const v1::CounterReport& report : request.counter_reports()) {
    BANDANA_ASSIGN_OR_RETURN(OpenedCounter out, OpenTokens(to, report, tokens));
    if (!out.failed.ok()) {
      opened.Fail(out.failed);
    } else if (out.model == nullptr) {
      opened.Refuse(v1::TOKEN_FOREIGN);
    } else if (!AllowUser(out)) {
      opened.Refuse(v1::USER_LIMIT);
    } else {
      opened.Add(*out.model, std::move(out.report));
    }
  }
  return opened;
}

}  // namespace

void SubmitCounters(ReportTargets& to, const v1::SubmitRequest& request, int steps_max,
                    TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  HandReports(to, OpenCounters(to, request, steps_max, tokens), CounterResultsOf(response),
              std::move(finish));
}

}  // namespace bandana::server
