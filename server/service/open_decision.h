// What every decision has, whatever is chosen: its request's frame, its place in the model, its
// token.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/hosted_model.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// Errors: INVALID_ARGUMENT the request's top_k is above kTopKMax, or so many arms of the model's
// dimension have more features than a token carries; or its user id's length.
absl::Status CheckRequest(const v1::SelectRequest& request, int dimension);

// Fills in all but id and arms. `node`: what ResolveUser says of the request's user.
void PlaceDecision(const HostedModel& model, const v1::SelectRequest& request, int node,
                   absl::Time now, Decision& decision);

// Seals the decision into `token`; then opens its reward window, where the server keeps one.
// Errors: UNAVAILABLE no key, no randomness, the log.
absl::Status SealDecision(HostedModel& model, const Decision& decision, TokenCodec& tokens,
                          std::string& token);

}  // namespace bandana::server
