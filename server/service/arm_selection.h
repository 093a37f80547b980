// Decisions among arms: features from the request or the catalogue, scores from the published
// posterior.
#pragma once

#include "absl/status/status.h"
#include "bandana/v1/recommender.pb.h"
#include "common/model/entries/decision.h"
#include "server/service/selection.h"

namespace bandana::server {

// See Chooser. UCB, deterministic given its tie break: the propensity is 1 for the first arm and 0
// for the others.
absl::Status RankArms(const Selecting& select, Decision& decision, v1::SelectResponse& response);
// Draws one of the arms on offer by their probabilities.
absl::Status DrawArms(const Selecting& select, Decision& decision, v1::SelectResponse& response);

}  // namespace bandana::server
