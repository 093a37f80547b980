// Deferred decisions that are shown now.
#pragma once

#include "bandana/v1/recommender.pb.h"
#include "server/service/report_targets.h"
#include "server/service/tokens/token.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Activates 1 to `decisions_max` decisions: ReportedModel::Activate. Errors: INVALID_ARGUMENT their
// number; those of ReportedModel::Activate.
void ActivateDecisions(ReportTargets& to, const v1::ActivateRequest& request, int decisions_max,
                       TokenCodec& tokens, v1::ActivateResponse& response, Finish finish);

}  // namespace bandana::server
