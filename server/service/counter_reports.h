// Submit of counter streams: opens the tokens of every step and hands the reports to the model.
#pragma once

#include "bandana/v1/recommender.pb.h"
#include "server/service/report_targets.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// See reports.h. A report with a token of another name, model, instance or epoch is TOKEN_FOREIGN
// as a whole, and so is one with tokens of two models. Requires a model whose devices count.
void SubmitCounters(ReportTargets& to, const v1::SubmitRequest& request, int steps_max,
                    TokenCodec& tokens, v1::SubmitResponse& response, Finish finish);

}  // namespace bandana::server
