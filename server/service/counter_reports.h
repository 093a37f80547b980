// Submit of counter streams: opens the tokens of every step and hands the reports to the model.
#pragma once

#include "bandana/v1/recommender.pb.h"
#include "server/models/hosted_model.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// See reports.h. A report with a token of another model, instance or epoch is TOKEN_FOREIGN as a
// whole. Requires a model whose devices count.
void SubmitCounters(HostedModel& model, const v1::SubmitRequest& request, int steps_max,
                    TokenCodec& tokens, v1::SubmitResponse& response, Finish finish);

}  // namespace bandana::server
