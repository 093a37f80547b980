#include "server/service/router.h"

#include <memory>
#include <utility>

#include "common/base/status.h"
#include "server/service/access/new_user_quota.h"
#include "server/service/new_users.h"
#include "server/service/outcomes.h"
#include "server/service/report_call.h"

namespace bandana::server {

absl::StatusOr<ReportRoute> Router::RouteOf(std::size_t report, std::string_view token, Allow allow,
                                            bool* opens) const {
  ReportRoute route{.report = report};
  const ResolvedModel& named = to_.resolved();
  std::shared_ptr<ServedModel> model = named.model;
  if (named.alias == nullptr) route.owner = model->owner();
  // The owner looks at the token, unless the caller is counted, whom the owner does not know.
  if (named.alias == nullptr && CallQuota::current() == nullptr) return route;
  const absl::StatusOr<AskedDecision> decision = tokens_.Open(token);
  if (absl::IsUnavailable(decision.status())) return decision.status();
  if (!decision.ok()) return route;
  if (opens != nullptr) *opens = true;
  if (named.alias != nullptr) {
    if (!decision->asked || decision->asked->alias != named.alias->spec.name) return route;
    model = registry_.Find(decision->asked->model);
    if (model == nullptr) return route;
    route.owner = model->owner();
  }
  route.over_quota = route.owner && !allow(*model, decision->user);
  return route;
}

// The tokens of a stream are of one model. Without one that opens the stream alone says whose it
// is.
absl::StatusOr<ReportRoute> Router::RouteOf(std::size_t report,
                                            const v1::CounterReport& stream) const {
  bool opens = false;
  for (const v1::CounterStep& step : stream.steps()) {
    BANDANA_ASSIGN_OR_RETURN(ReportRoute route, RouteOf(report, step.token(), AllowReport, &opens));
    if (opens) return route;
  }
  return ReportRoute{.report = report, .owner = OwnerOfFirst()};
}

absl::StatusOr<std::vector<ReportRoute>> Router::RoutesOf(const v1::ReportRequest& request,
                                                          int max) const {
  BANDANA_RETURN_IF_ERROR(CheckCount("outcomes", request.outcomes_size(), max));
  std::vector<ReportRoute> routes;
  for (int i = 0; i < request.outcomes_size(); ++i) {
    const v1::Outcome& outcome = request.outcomes(i);
    BANDANA_ASSIGN_OR_RETURN(std::optional<std::string> token, TokenOf(to_, i, outcome));
    const auto report = static_cast<std::size_t>(i);
    if (!token) {
      routes.push_back({.report = report});
      continue;
    }
    BANDANA_ASSIGN_OR_RETURN(ReportRoute route, RouteOf(report, *token, AllowReport));
    if (route.owner && !outcome.decision_id().empty()) route.token = *std::move(token);
    routes.push_back(std::move(route));
  }
  return routes;
}

absl::StatusOr<std::vector<ReportRoute>> Router::RoutesOf(const v1::ActivateRequest& request,
                                                          int max) const {
  BANDANA_RETURN_IF_ERROR(CheckCount("tokens and decision_ids",
                                     request.tokens_size() + request.decision_ids_size(), max));
  std::vector<ReportRoute> routes;
  std::size_t report = 0;
  for (const std::string& token : request.tokens()) {
    BANDANA_ASSIGN_OR_RETURN(ReportRoute route, RouteOf(report++, token, AllowDecision));
    routes.push_back(std::move(route));
  }
  for (const std::string& id : request.decision_ids()) {
    std::vector<std::string> slots = to_.TokensOf(id);
    for (std::string& token : slots) {
      BANDANA_ASSIGN_OR_RETURN(ReportRoute route, RouteOf(report, token, AllowDecision));
      if (!route.owner) break;  // all slots are of one model
      route.token = std::move(token);
      routes.push_back(std::move(route));
    }
    if (routes.empty() || routes.back().report != report) routes.push_back({.report = report});
    ++report;
  }
  return routes;
}

absl::StatusOr<std::vector<ReportRoute>> Router::RoutesOf(const v1::SubmitRequest& request,
                                                          int max) const {
  const int reports =
      request.reports_size() + request.counter_reports_size() + request.context_reports_size();
  BANDANA_RETURN_IF_ERROR(CheckCount("reports", reports, max));
  std::vector<ReportRoute> routes;
  std::size_t report = 0;
  for (const v1::PerturbedReport& one : request.reports()) {
    BANDANA_ASSIGN_OR_RETURN(ReportRoute route, RouteOf(report++, one.token(), AllowReport));
    routes.push_back(std::move(route));
  }
  for (const v1::CounterReport& one : request.counter_reports()) {
    BANDANA_ASSIGN_OR_RETURN(ReportRoute route, RouteOf(report++, one));
    routes.push_back(std::move(route));
  }
  // Nothing in them names a decision: one model alone stands behind such an alias.
  for (int i = 0; i < request.context_reports_size(); ++i) {
    routes.push_back({.report = report++, .owner = OwnerOfFirst()});
  }
  return routes;
}

}  // namespace bandana::server
