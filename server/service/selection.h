// One decision: validate, score against the published posterior, choose, seal.
#pragma once

#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "common/decisions/stored_decision.h"
#include "server/models/aliases/resolved_name.h"
#include "server/models/hosted_model.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// A request that is being served.
struct Selecting {
  SelectingModel& model;
  const v1::SelectRequest& request;
  int node = 0;                     // what ResolveUser says of its user
  std::span<const EffectKey> keys;  // what UserParts says
  int arms_max = 0;
  absl::Time now;
  StoredDecision* logged = nullptr;  // for the model's decision log; null: it is not logged
  // Gets Chosen::explored; null: nobody asks.
  std::optional<bool>* explored = nullptr;
};

// Fills in the decision's arms, given its id, and all of the response but the token.
using Chooser = absl::Status (*)(const Selecting& select, Decision& decision,
                                 v1::SelectResponse& response);

// Fills `response` (empty before) for one request to the model of `to`, as its family chooses
// (Family::Choice), and opens the decision's reward window where the server keeps one. The token
// names the alias that was asked for. Errors:
// those of Recommender.Select; UNAVAILABLE no key, no randomness, the log; then `response` means
// nothing. Threads: safe; scratch memory is per thread.
absl::Status Select(const ResolvedModel& to, const v1::SelectRequest& request, int arms_max,
                    absl::Time now, TokenCodec& tokens, v1::SelectResponse& response);

}  // namespace bandana::server
