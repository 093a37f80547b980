// The way of one call's reports, whatever their kind: opened, handed to their models, answered in
// order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/recommender.pb.h"
#include "common/model/entries/report.h"
#include "server/models/hosted_model.h"
#include "server/service/report_targets.h"
#include "server/service/split_call.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Errors: INVALID_ARGUMENT.
absl::Status CheckCount(std::string_view field, int count, int max);

// A call's reports, by the model that each is for, and why the others are for none.
template <typename Reported>
struct OpenedReports {
  struct Part {
    ServedModel* model = nullptr;
    std::vector<Reported> reports;
    std::vector<std::size_t> places;  // where they stand in the call
  };
  std::vector<ReportResult> results;  // one per report of the call; refused, or still to come
  std::vector<Part> parts;
  absl::Status failed;  // of reports whose model cannot be asked

  void Add(ServedModel& model, Reported report) {
    auto part = std::ranges::find_if(parts, [&](const Part& one) { return one.model == &model; });
    if (part == parts.end()) part = parts.insert(part, {.model = &model});
    part->reports.push_back(std::move(report));
    part->places.push_back(results.size());
    results.emplace_back();
  }
  void Refuse(v1::RejectReason reason) {
    results.push_back({.code = v1::REJECTED, .reason = reason});
  }
  void Fail(const absl::Status& status) {
    failed.Update(status);
    results.emplace_back();
  }
};

inline void Hand(ReportedModel& model, std::vector<ReportedOutcome> reports, ReportDone done) {
  model.Report(std::move(reports), std::move(done));
}
inline void Hand(ReportedModel& model, std::vector<ReportedCounter> reports, ReportDone done) {
  model.ReportCounters(std::move(reports), std::move(done));
}
inline void Hand(ReportedModel& model, std::vector<ReportedContext> reports, ReportDone done) {
  model.ReportContexts(std::move(reports), std::move(done));
}
// Deferred decisions, by their slots.
inline void Hand(ReportedModel& model, std::vector<std::vector<Decision>> shown, ReportDone done) {
  model.Activate(std::move(shown), std::move(done));
}
// Whether what was refused counts as a report.
template <typename Reported>
inline constexpr bool kIsReport = true;
template <>
inline constexpr bool kIsReport<std::vector<Decision>> = false;

// For HandReports: fills the response's `results`.
template <typename Response>
auto ResultsOf(Response& response) {
  return [&response](const ReportResult& result) {
    v1::OutcomeResult& out = *response.add_results();
    out.set_code(result.code);
    out.set_reason(result.reason);
  };
}

// As above for counter reports.
inline auto CounterResultsOf(v1::SubmitResponse& response) {
  return [&response](const ReportResult& result) {
    v1::CounterResult& out = *response.add_counter_results();
    out.set_code(result.code);
    out.set_reason(result.reason);
    out.set_acknowledged_step(result.acknowledged_step);
  };
}

// Counts what was refused here, hands each model its reports, and finishes the call once all have
// answered: `add(result)` once per report of the call, in order. Errors: those of opening, and of
// the models (SplitCall).
template <typename Reported, typename AddResult>
void HandReports(ReportTargets& to, absl::StatusOr<OpenedReports<Reported>> opened, AddResult add,
                 Finish finish) {
  if (!opened.ok()) return finish(opened.status());
  for (const ReportResult& result : opened->results) {
    if (!kIsReport<Reported> || result.code != v1::REJECTED) continue;
    to.first().CountRejected(v1::REJECTED, result.reason, 1);
  }
  auto done = [add = std::move(add),
               finish = std::move(finish)](absl::StatusOr<std::vector<ReportResult>> results) {
    if (!results.ok()) return finish(results.status());
    for (const ReportResult& result : *results) add(result);
    finish(absl::OkStatus());
  };
  if (opened->parts.empty()) {
    return opened->failed.ok() ? done(std::move(opened->results)) : done(opened->failed);
  }
  std::vector<std::vector<std::size_t>> places;
  for (auto& part : opened->parts) places.push_back(std::move(part.places));
  const auto parts = std::make_shared<SplitCall>(std::move(opened->results), std::move(places),
                                                 opened->failed, std::move(done));
  // The callbacks must not own a model: dropped by the log's own thread, it would make the model
  // join itself. A model that is deleted meanwhile completes its pending calls first.
  for (std::size_t i = 0; i < opened->parts.size(); ++i) {
    auto& part = opened->parts[i];
    HostedModel* const owned = part.model->owned();
    auto take = [parts, i](absl::StatusOr<std::vector<ReportResult>> results) {
      parts->Take(i, std::move(results));
    };
    if (owned == nullptr) {
      take(OwnedElsewhere(*part.model));
    } else {
      Hand(*owned, std::move(part.reports), std::move(take));
    }
  }
}

}  // namespace bandana::server
