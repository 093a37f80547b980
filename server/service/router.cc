#include "server/service/router.h"

#include <memory>
#include <utility>

#include "common/base/status.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/new_users.h"
#include "server/service/outcomes.h"
#include "server/service/report_call.h"

namespace bandana::server {

absl::StatusOr<Way> Router::WayOf(std::size_t report, std::string_view token, Allow allow,
                                  bool* opens) const {
  Way way{.report = report};
  const Answering& named = to_.answering();
  std::shared_ptr<HostedModel> model = named.model;
  if (named.alias == nullptr) way.owner = model->owner();
  // The owner looks at the token, unless the caller is counted, whom the owner does not know.
  if (named.alias == nullptr && CallQuota::current() == nullptr) return way;
  const absl::StatusOr<AskedDecision> decision = tokens_.Open(token);
  if (absl::IsUnavailable(decision.status())) return decision.status();
  if (!decision.ok()) return way;
  if (opens != nullptr) *opens = true;
  if (named.alias != nullptr) {
    if (!decision->asked || decision->asked->alias != named.alias->spec.name) return way;
    model = registry_.Find(decision->asked->model);
    if (model == nullptr) return way;
    way.owner = model->owner();
  }
  way.over_quota = way.owner && !allow(*model, decision->user);
  return way;
}

// The tokens of a stream are of one model. Without one that opens the stream alone says whose it
// is.
absl::StatusOr<Way> Router::WayOf(std::size_t report, const v1::CounterReport& stream) const {
  bool opens = false;
  for (const v1::CounterStep& step : stream.steps()) {
    BANDANA_ASSIGN_OR_RETURN(Way way, WayOf(report, step.token(), AllowReport, &opens));
    if (opens) return way;
  }
  return Way{.report = report, .owner = OwnerOfFirst()};
}

absl::StatusOr<std::vector<Way>> Router::WaysOf(const v1::ReportRequest& request, int max) const {
  BANDANA_RETURN_IF_ERROR(CheckCount("outcomes", request.outcomes_size(), max));
  std::vector<Way> ways;
  for (int i = 0; i < request.outcomes_size(); ++i) {
    const v1::Outcome& outcome = request.outcomes(i);
    BANDANA_ASSIGN_OR_RETURN(std::optional<std::string> token, TokenOf(to_, i, outcome));
    const auto report = static_cast<std::size_t>(i);
    if (!token) {
      ways.push_back({.report = report});
      continue;
    }
    BANDANA_ASSIGN_OR_RETURN(Way way, WayOf(report, *token, AllowReport));
    if (way.owner && !outcome.decision_id().empty()) way.token = *std::move(token);
    ways.push_back(std::move(way));
  }
  return ways;
}

absl::StatusOr<std::vector<Way>> Router::WaysOf(const v1::ActivateRequest& request, int max) const {
  BANDANA_RETURN_IF_ERROR(CheckCount("tokens and decision_ids",
                                     request.tokens_size() + request.decision_ids_size(), max));
  std::vector<Way> ways;
  std::size_t report = 0;
  for (const std::string& token : request.tokens()) {
    BANDANA_ASSIGN_OR_RETURN(Way way, WayOf(report++, token, AllowDecision));
    ways.push_back(std::move(way));
  }
  for (const std::string& id : request.decision_ids()) {
    std::vector<std::string> slots = to_.TokensOf(id);
    for (std::string& token : slots) {
      BANDANA_ASSIGN_OR_RETURN(Way way, WayOf(report, token, AllowDecision));
      if (!way.owner) break;  // all slots are of one model
      way.token = std::move(token);
      ways.push_back(std::move(way));
    }
    if (ways.empty() || ways.back().report != report) ways.push_back({.report = report});
    ++report;
  }
  return ways;
}

absl::StatusOr<std::vector<Way>> Router::WaysOf(const v1::SubmitRequest& request, int max) const {
  const int reports =
      request.reports_size() + request.counter_reports_size() + request.context_reports_size();
  BANDANA_RETURN_IF_ERROR(CheckCount("reports", reports, max));
  std::vector<Way> ways;
  std::size_t report = 0;
  for (const v1::PerturbedReport& one : request.reports()) {
    BANDANA_ASSIGN_OR_RETURN(Way way, WayOf(report++, one.token(), AllowReport));
    ways.push_back(std::move(way));
  }
  for (const v1::CounterReport& one : request.counter_reports()) {
    BANDANA_ASSIGN_OR_RETURN(Way way, WayOf(report++, one));
    ways.push_back(std::move(way));
  }
  // Nothing in them names a decision: one model alone stands behind such an alias.
  for (int i = 0; i < request.context_reports_size(); ++i) {
    ways.push_back({.report = report++, .owner = OwnerOfFirst()});
  }
  return ways;
}

}  // namespace bandana::server
