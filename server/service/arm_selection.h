// Decisions among arms: features from the request or the catalogue, scores from the published
// posterior.
#pragma once

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/model/entries/decision.h"
#include "server/service/selection.h"

namespace bandana::server {

// See Chooser. By UCB, which is deterministic given its tie break, or by the policy of the model.
absl::Status RankArms(const Selecting& select, Decision& decision, v1::SelectResponse& response);
// Draws one of the arms on offer by their probabilities.
absl::Status DrawArms(const Selecting& select, Decision& decision, v1::SelectResponse& response);

}  // namespace bandana::server
