// The way of one call's reports, whatever their kind: opened, handed to the model, answered in
// order.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/check.h"
#include "common/model/entries/report.h"
#include "server/models/hosted_model.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Errors: INVALID_ARGUMENT.
absl::Status CheckCount(std::string_view field, int count, int max);

// Whether the device acted under the model's present policy. Errors: INVALID_ARGUMENT,
// FAILED_PRECONDITION.
absl::Status CheckPolicy(const HostedModel& model, const v1::SubmitRequest& request);

// A call's reports: those for the model, and why the others are not.
template <typename Reported>
struct OpenedReports {
  std::vector<Reported> reports;
  std::vector<v1::RejectReason> reasons;  // one per report of the call; unspecified = in `reports`
};

inline void Hand(HostedModel& model, std::vector<ReportedOutcome> reports, ReportDone done) {
  model.Report(std::move(reports), std::move(done));
}
inline void Hand(HostedModel& model, std::vector<ReportedCounter> reports, ReportDone done) {
  model.ReportCounters(std::move(reports), std::move(done));
}
inline void Hand(HostedModel& model, std::vector<ReportedContext> reports, ReportDone done) {
  model.ReportContexts(std::move(reports), std::move(done));
}

// `add(result)` once per report of the call, in order.
template <typename AddResult>
void AddResults(const std::vector<v1::RejectReason>& reasons,
                const std::vector<ReportResult>& results, const AddResult& add) {
  std::size_t next = 0;
  for (const v1::RejectReason reason : reasons) {
    const bool refused = reason != v1::REJECT_REASON_UNSPECIFIED;
    add(refused ? ReportResult{.code = v1::REJECTED, .reason = reason} : results[next++]);
  }
}

// For HandReports: fills the response's `results`.
template <typename Response>
auto ResultsOf(Response& response) {
  return [&response](const ReportResult& result) {
    v1::OutcomeResult& out = *response.add_results();
    out.set_code(result.code);
    out.set_reason(result.reason);
  };
}

// Counts what was refused here, hands the rest to the model, and finishes the call with
// AddResults. Errors: those of opening, and the model's.
template <typename Reported, typename AddResult>
void HandReports(HostedModel& model, absl::StatusOr<OpenedReports<Reported>> opened, AddResult add,
                 Finish finish) {
  if (!opened.ok()) return finish(opened.status());
  for (const v1::RejectReason reason : opened->reasons) {
    if (reason != v1::REJECT_REASON_UNSPECIFIED) model.CountRejected(v1::REJECTED, reason, 1);
  }
  if (opened->reports.empty()) {
    AddResults(opened->reasons, {}, add);
    return finish(absl::OkStatus());
  }
  const std::size_t count = opened->reports.size();
  // The callback must not own the model: dropped by the log's own thread, it would make the model
  // join itself. A model that is deleted meanwhile completes its pending calls first.
  Hand(model, std::move(opened->reports),
       [reasons = std::move(opened->reasons), count, add = std::move(add),
        finish = std::move(finish)](absl::StatusOr<std::vector<ReportResult>> results) {
         if (!results.ok()) return finish(results.status());
         BANDANA_CHECK(results->size() == count);
         AddResults(reasons, *results, add);
         finish(absl::OkStatus());
       });
}

}  // namespace bandana::server
