// One decision: validate, score against the published posterior, choose, seal.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/hosted_model.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// Fills `response` (empty before) for one request to `model`, as its family chooses
// (Family::Choice). Ranking is UCB, deterministic given its tie break: the propensity is 1 for the
// first arm and 0 for the others. Errors: those of Recommender.Select; then `response` means
// nothing. Threads: safe; scratch memory is per thread.
absl::Status Select(HostedModel& model, const v1::SelectRequest& request, int arms_max,
                    absl::Time now, TokenCodec& tokens, v1::SelectResponse& response);

}  // namespace bandana::server
