// Submit of counter streams: opens the tokens of every step and hands the reports to the model.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "server/models/hosted_model.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Errors: INVALID_ARGUMENT.
absl::Status CheckCount(std::string_view field, int count, int max);

// Whether the device acted under the model's present policy. Errors: INVALID_ARGUMENT,
// FAILED_PRECONDITION.
absl::Status CheckPolicy(const HostedModel& model, const v1::SubmitRequest& request);

// Requires a LOCAL_REWARD model with a counter.
void SubmitCounters(HostedModel& model, const v1::SubmitRequest& request, int steps_max,
                    TokenCodec& tokens, v1::SubmitResponse& response, Finish finish);

}  // namespace bandana::server
