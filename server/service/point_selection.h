// Decisions of models of points: draw a direction, play.
#pragma once

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/model/entries/decision.h"
#include "server/service/selection.h"

namespace bandana::server {

// See Chooser. `point` lies in the domain, and the decision's one arm is the gradient factor of the
// play. The direction is exploration, not noise: drawn from the system's generator as tokens are.
// Errors: INVALID_ARGUMENT arms are there, or top_k above 1.
absl::Status PlayPoint(const Selecting& select, Decision& decision, v1::SelectResponse& response);

}  // namespace bandana::server
