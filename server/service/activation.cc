#include "server/service/activation.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "server/service/new_users.h"
#include "server/service/report_call.h"

namespace bandana::server {
namespace {

using Slots = std::vector<Decision>;

// Puts a decision of these slots in its place, with the model that made it. Errors: UNAVAILABLE a
// token could not be looked at.
absl::Status Add(ReportTargets& to, TokenCodec& tokens, std::span<const std::string> sealed,
                 OpenedReports<Slots>& opened) {
  Slots slots;
  ServedModel* maker = nullptr;
  for (const std::string& token : sealed) {
    absl::StatusOr<AskedDecision> decision = tokens.Open(token);
    if (absl::IsUnavailable(decision.status())) return decision.status();
    if (!decision.ok()) {
      opened.Refuse(v1::TOKEN_INVALID);
      return absl::OkStatus();
    }
    const absl::StatusOr<ServedModel*> found = to.MakerOf(*decision);
    if (!found.ok()) {
      opened.Fail(found.status());
      return absl::OkStatus();
    }
    maker = *found;
    if (maker == nullptr || decision->epoch != maker->epoch()) {
      opened.Refuse(v1::TOKEN_FOREIGN);
      return absl::OkStatus();
    }
    slots.push_back(*std::move(decision));
  }
  if (!AllowDecision(*maker, slots.front().user)) {
    opened.Refuse(v1::USER_LIMIT);
  } else {
    opened.Add(*maker, std::move(slots));
  }
  return absl::OkStatus();
}

absl::StatusOr<OpenedReports<Slots>> Open(ReportTargets& to, const v1::ActivateRequest& request,
                                          int decisions_max, TokenCodec& tokens) {
  BANDANA_RETURN_IF_ERROR(CheckCount("tokens and decision_ids",
                                     request.tokens_size() + request.decision_ids_size(),
                                     decisions_max));
  OpenedReports<Slots> opened;
  for (const std::string& token : request.tokens()) {
    BANDANA_RETURN_IF_ERROR(Add(to, tokens, {&token, 1}, opened));
  }
  for (const std::string& id : request.decision_ids()) {
    const std::vector<std::string> sealed = to.TokensOf(id);
    if (sealed.empty()) {
      opened.Refuse(v1::DECISION_UNKNOWN);
    } else {
      BANDANA_RETURN_IF_ERROR(Add(to, tokens, sealed, opened));
    }
  }
  return opened;
}

}  // namespace

void ActivateDecisions(ReportTargets& to, const v1::ActivateRequest& request, int decisions_max,
                       TokenCodec& tokens, v1::ActivateResponse& response, Finish finish) {
  HandReports(to, Open(to, request, decisions_max, tokens), ResultsOf(response), std::move(finish));
}

}  // namespace bandana::server
