// One decision of a model of points: draw a direction, play, seal.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/hosted_model.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// Fills `response` (empty before) for one request to `model`, which is of points: `point` lies in
// the domain, and the token holds the gradient factor of the play. The direction is exploration,
// not noise: drawn from the system's generator as tokens are. Errors: those of Recommender.Select;
// INVALID_ARGUMENT arms are there, or top_k above 1; then `response` means nothing. Threads: safe.
absl::Status SelectPoint(HostedModel& model, const v1::SelectRequest& request, absl::Time now,
                         TokenCodec& tokens, v1::SelectResponse& response);

}  // namespace bandana::server
