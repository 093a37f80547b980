#include "server/service/reports.h"

#include <cstddef>
#include <utility>

#include "common/base/status.h"
#include "common/promise/mechanism.h"
#include "server/service/context_reports.h"
#include "server/service/counter_reports.h"
#include "server/service/outcomes.h"
#include "server/service/report_call.h"

namespace bandana::server {
namespace {

// How calls are taken from devices that send this.
struct Row {
  decltype(&ReportOutcomes) report;
  decltype(&SubmitReports) submit;
};

// Both have the form of a row's call.
// NOLINTBEGIN(performance-unnecessary-value-param)
void RefuseReport(ReportTargets& to, const v1::ReportRequest&, int, TokenCodec&,
                  v1::ReportResponse&, Finish finish) {
  finish(FailedPrecondition("model is ", ModeName(to.first().spec().public_spec.mode),
                            ": rewards are randomized on the device and sent by Submit"));
}
void RefuseSubmit(ReportTargets&, const v1::SubmitRequest&, int, TokenCodec&, v1::SubmitResponse&,
                  Finish finish) {
  finish(FailedPrecondition("model is not LOCAL_REWARD: send its rewards by Report"));
}
// NOLINTEND(performance-unnecessary-value-param)

void Contexts(ReportTargets& to, const v1::SubmitRequest& request, int reports_max, TokenCodec&,
              v1::SubmitResponse& response, Finish finish) {
  SubmitContexts(to, request, reports_max, response, std::move(finish));
}

// By ReportForm.
constexpr Row kRows[] = {
    {TakeRewards, RefuseSubmit},
    {RefuseReport, SubmitOutputs},
    {RefuseReport, SubmitCounters},
    {RefuseReport, Contexts},
};

const Row& RowOf(const ReportTargets& to) {
  return kRows[static_cast<std::size_t>(to.first().spec().public_spec.made->reports())];
}

}  // namespace

absl::Status CheckCount(std::string_view field, int count, int max) {
  if (count >= 1 && count <= max) return absl::OkStatus();
  return InvalidArgument(ToAbsl(field), ": 1 to ", max, " in a call, got ", count);
}

void ReportOutcomes(ReportTargets& to, const v1::ReportRequest& request, int outcomes_max,
                    TokenCodec& tokens, v1::ReportResponse& response, Finish finish) {
  RowOf(to).report(to, request, outcomes_max, tokens, response, std::move(finish));
}

void SubmitReports(ReportTargets& to, const v1::SubmitRequest& request, int reports_max,
                   TokenCodec& tokens, v1::SubmitResponse& response, Finish finish) {
  RowOf(to).submit(to, request, reports_max, tokens, response, std::move(finish));
}

}  // namespace bandana::server
