// Which server answers a report: this one, or the one that owns the model of its decision.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/recommender.pb.h"
#include "server/service/report_targets.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// The route of a report, or of a slot of a decision.
struct ReportRoute {
  std::size_t report = 0;            // its place in the call
  std::optional<std::string> owner;  // nothing: it is for this server
  std::string token;        // in place of the name that its caller gave it; empty: as it came
  bool over_quota = false;  // its user may not become known by this caller: USER_LIMIT
};

// It reads nothing of a call's reports but their tokens. A token that does not open is for this
// server where an alias was named, for the model's owner else. Reports whose decisions are named by
// their callers get their tokens, which this server alone has kept. Not thread-safe; lives on the
// stack of a call.
class Router {
 public:
  Router(const ModelDirectory& registry, const ReportTargets& to, TokenCodec& tokens)
      : registry_(registry), to_(to), tokens_(tokens) {}

  // In the order of the reports; of an activation with slots one route per slot. `max`: of reports
  // in a call. Errors: INVALID_ARGUMENT; UNAVAILABLE a token could not be looked at.
  absl::StatusOr<std::vector<ReportRoute>> RoutesOf(const v1::ReportRequest& request,
                                                    int max) const;
  absl::StatusOr<std::vector<ReportRoute>> RoutesOf(const v1::ActivateRequest& request,
                                                    int max) const;
  absl::StatusOr<std::vector<ReportRoute>> RoutesOf(const v1::SubmitRequest& request,
                                                    int max) const;

 private:
  using Allow = bool (*)(const SelectingModel& model, const std::string& user);

  std::optional<std::string> OwnerOfFirst() const { return to_.first().owner(); }
  // `opens`, if given, says whether the token told anything.
  absl::StatusOr<ReportRoute> RouteOf(std::size_t report, std::string_view token, Allow allow,
                                      bool* opens = nullptr) const;
  absl::StatusOr<ReportRoute> RouteOf(std::size_t report, const v1::CounterReport& stream) const;

  const ModelDirectory& registry_;
  const ReportTargets& to_;
  TokenCodec& tokens_;
};

}  // namespace bandana::server
