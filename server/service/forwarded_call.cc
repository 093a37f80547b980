#include "server/service/forwarded_call.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/service/report_call.h"
#include "server/service/split_call.h"

namespace bandana::server {
namespace {

// Room for the name and the policy beside the reports.
constexpr std::size_t kPartBytesMax = kHotMessageBytesMax - 1024;

// Says as all parts of a call do.
template <typename Request>
Request Head(const Request& request) {
  Request head;
  head.set_model(request.model());
  head.set_policy_hash(request.policy_hash());
  return head;
}

// One report of the call, as it goes.
v1::ReportRequest One(const v1::ReportRequest& request, const ReportRoute& route) {
  v1::ReportRequest one;
  v1::Outcome& outcome = *one.add_outcomes() = request.outcomes(static_cast<int>(route.report));
  if (route.token.empty()) return one;
  outcome.clear_decision_id();
  outcome.clear_slot();
  outcome.set_token(route.token);
  return one;
}
v1::ActivateRequest One(const v1::ActivateRequest& request, const ReportRoute& route) {
  v1::ActivateRequest one;
  const int report = static_cast<int>(route.report);
  if (!route.token.empty()) {
    one.add_tokens(route.token);
  } else if (report < request.tokens_size()) {
    one.add_tokens(request.tokens(report));
  } else {
    one.add_decision_ids(request.decision_ids(report - request.tokens_size()));
  }
  return one;
}
v1::SubmitRequest One(const v1::SubmitRequest& request, const ReportRoute& route) {
  v1::SubmitRequest one;
  int at = static_cast<int>(route.report);
  if (at < request.reports_size()) {
    *one.add_reports() = request.reports(at);
    return one;
  }
  at -= request.reports_size();
  if (at < request.counter_reports_size()) {
    *one.add_counter_reports() = request.counter_reports(at);
  } else {
    *one.add_context_reports() = request.context_reports(at - request.counter_reports_size());
  }
  return one;
}

template <typename Response>
std::vector<ReportResult> ResultsIn(const Response& response) {
  std::vector<ReportResult> results;
  for (const v1::OutcomeResult& result : response.results()) {
    results.push_back({.code = result.code(), .reason = result.reason()});
  }
  if constexpr (requires { response.counter_results(); }) {
    for (const v1::CounterResult& result : response.counter_results()) {
      results.push_back({.code = result.code(),
                         .reason = result.reason(),
                         .acknowledged_step = result.acknowledged_step()});
    }
  }
  return results;
}

// Puts the result of a report into the response.
template <typename Request, typename Response>
auto AdderOf(const Request&, Response& response) {
  return ResultsOf(response);
}
std::function<void(const ReportResult&)> AdderOf(const v1::SubmitRequest& request,
                                                 v1::SubmitResponse& response) {
  if (request.counter_reports_size() > 0) return CounterResultsOf(response);
  return ResultsOf(response);
}

// The results of reports from those along their routes: slots are taken together, and all must be.
std::vector<ReportResult> ByReport(const std::vector<std::size_t>& reports,
                                   const std::vector<ReportResult>& results) {
  std::vector<ReportResult> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i == 0 || reports[i] != reports[i - 1]) {
      out.push_back(results[i]);
    } else if (out.back().code == v1::APPLIED) {
      out.back() = results[i];
    }
  }
  return out;
}

template <typename Request>
struct Part {
  std::optional<std::string> owner;
  Request request;
  std::size_t bytes = 0;
  std::vector<std::size_t> places;  // among the routes

  bool HasRoom(std::size_t more) const {
    return !owner ||
           (places.size() < std::size_t{kBatchDecisionsMax} && bytes + more <= kPartBytesMax);
  }
};

// Those that are over quota are in no part: their results are filled in.
template <typename Request>
std::vector<Part<Request>> PartsOf(const Request& request, const std::vector<ReportRoute>& routes,
                                   std::vector<ReportResult>& results) {
  std::vector<Part<Request>> parts;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const ReportRoute& route = routes[i];
    if (route.over_quota) {
      results[i] = {.code = v1::REJECTED, .reason = v1::USER_LIMIT};
      continue;
    }
    const Request one = One(request, route);
    const std::size_t bytes = one.ByteSizeLong();
    auto part = std::ranges::find_if(parts, [&](const auto& known) {
      return known.owner == route.owner && known.HasRoom(bytes);
    });
    if (part == parts.end()) {
      part = parts.insert(part, {.owner = route.owner, .request = Head(request)});
    }
    part->request.MergeFrom(one);
    part->bytes += bytes;
    part->places.push_back(i);
  }
  return parts;
}

template <typename Request, typename Response>
void Send(const std::optional<std::string>& owner, const Request& request, Response& response,
          OwnerChannels& owners, const Here<Request, Response>& here, Finish finish) {
  if (!owner) return here(request, response, std::move(finish));
  owners.Hand(*owner, request, response, std::move(finish));
}

template <typename Request, typename Response>
struct Sent {
  Request request;
  Response response;
};

template <typename Response>
absl::StatusOr<std::vector<ReportResult>> AnswerOf(const absl::Status& status,
                                                   const Response& response, std::size_t reports) {
  if (!status.ok()) return status;
  std::vector<ReportResult> results = ResultsIn(response);
  if (results.size() != reports) return OwnerAway();
  return results;
}

template <typename Request, typename Response>
void ForwardParts(const Request& request, const std::vector<ReportRoute>& routes,
                  OwnerChannels& owners, const Here<Request, Response>& here, Response& response,
                  Finish finish) {
  std::vector<ReportResult> results(routes.size());
  std::vector<Part<Request>> parts = PartsOf(request, routes, results);
  std::vector<std::size_t> reports;
  reports.reserve(routes.size());
  for (const ReportRoute& route : routes) reports.push_back(route.report);
  auto done = [add = AdderOf(request, response), reports = std::move(reports),
               finish = std::move(finish)](absl::StatusOr<std::vector<ReportResult>> answered) {
    if (!answered.ok()) return finish(answered.status());
    for (const ReportResult& result : ByReport(reports, *answered)) add(result);
    finish(absl::OkStatus());
  };
  if (parts.empty()) return done(std::move(results));
  std::vector<std::vector<std::size_t>> places;
  places.reserve(parts.size());
  for (const auto& part : parts) places.push_back(part.places);
  const auto merged = std::make_shared<SplitCall>(std::move(results), std::move(places),
                                                  absl::OkStatus(), std::move(done));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto sent = std::make_shared<Sent<Request, Response>>();
    sent->request = std::move(parts[i].request);
    Send<Request, Response>(parts[i].owner, sent->request, sent->response, owners, here,
                            [merged, i, sent, n = parts[i].places.size()](const absl::Status& s) {
                              merged->Take(i, AnswerOf(s, sent->response, n));
                            });
  }
}

template <typename Request, typename Response>
void ForwardAll(const Request& request, const absl::StatusOr<std::vector<ReportRoute>>& routes,
                OwnerChannels& owners, const Here<Request, Response>& here, Response& response,
                Finish finish) {
  if (!routes.ok()) return finish(routes.status());
  const bool as_it_came = std::ranges::all_of(*routes, [&](const ReportRoute& route) {
    return route.owner == routes->front().owner && route.token.empty() && !route.over_quota;
  });
  if (!as_it_came) return ForwardParts(request, *routes, owners, here, response, std::move(finish));
  Send(routes->front().owner, request, response, owners, here, std::move(finish));
}

}  // namespace

void Forward(const v1::ReportRequest& request,
             const absl::StatusOr<std::vector<ReportRoute>>& routes, OwnerChannels& owners,
             const Here<v1::ReportRequest, v1::ReportResponse>& here, v1::ReportResponse& response,
             Finish finish) {
  ForwardAll(request, routes, owners, here, response, std::move(finish));
}
void Forward(const v1::ActivateRequest& request,
             const absl::StatusOr<std::vector<ReportRoute>>& routes, OwnerChannels& owners,
             const Here<v1::ActivateRequest, v1::ActivateResponse>& here,
             v1::ActivateResponse& response, Finish finish) {
  ForwardAll(request, routes, owners, here, response, std::move(finish));
}
void Forward(const v1::SubmitRequest& request,
             const absl::StatusOr<std::vector<ReportRoute>>& routes, OwnerChannels& owners,
             const Here<v1::SubmitRequest, v1::SubmitResponse>& here, v1::SubmitResponse& response,
             Finish finish) {
  ForwardAll(request, routes, owners, here, response, std::move(finish));
}

}  // namespace bandana::server
