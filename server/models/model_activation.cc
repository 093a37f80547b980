// Deferred decisions of a model, as they are shown.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/promise/event_rule.h"
#include "server/models/admission/reported_event.h"
#include "server/models/admission/verdict.h"
#include "server/models/running_model.h"

namespace bandana::server {

void RunningModel::Activate(std::vector<std::vector<Decision>> decisions, ReportDone done) {
  const EventRule rule = EventRuleOf(spec_.public_spec);
  if (!rule.no_deferral.empty()) {
    return done(FailedPrecondition("model ", spec_.public_spec.name,
                                   " closes no reward windows: nothing is activated"));
  }
  const absl::Time now = clock_.Now();
  std::vector<ReportResult> results(decisions.size());
  std::vector<std::size_t> places;
  std::vector<std::string> records;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& first = decisions[i].front();
    const bool fits = std::ranges::all_of(
        decisions[i], [&](const Decision& slot) { return FitsModel(spec_, slot); });
    if (!fits) {
      results[i] = {.code = v1::REJECTED, .reason = v1::TOKEN_INVALID};
    } else if (!first.deferred) {
      results[i] = {.code = v1::APPLIED};
    } else if (now >= TokenTime(first) + rule.activated_within) {
      results[i] = {.code = v1::EXPIRED};
    } else {
      places.push_back(i);
      records.push_back(*OpeningOf(intake_, decisions[i], now));
    }
  }
  if (records.empty()) return done(std::move(results));
  auto shared = std::make_shared<ReportDone>(std::move(done));
  auto finish = [this, shared, decisions = std::move(decisions), results = std::move(results),
                 places = std::move(places)](const absl::Status& status,
                                             std::span<const Admission> verdicts) mutable {
    if (!status.ok()) return (*shared)(status);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const std::optional<ReportResult> result = ResultOf(verdicts[i]);
      if (!result) return (*shared)(Undecided(verdicts[i]));
      ReportResult& out = results[places[i]];
      out = *result;
      if (out.code == v1::DUPLICATE) out.code = v1::APPLIED;
      if (verdicts[i] != Admission::kAppend) continue;
      for (const Decision& slot : decisions[places[i]]) {
        if (slot.arms.front().agreed) apprentice_.Decided(*slot.arms.front().agreed);
      }
    }
    (*shared)(std::move(results));
  };
  const absl::Status queued = writer_->Submit(std::move(records), std::move(finish));
  if (!queued.ok()) (*shared)(queued);
}

}  // namespace bandana::server
