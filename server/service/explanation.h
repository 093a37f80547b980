// The parts of which the scores of ranked arms are made.
#pragma once

#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/design/model_spec.h"
#include "common/ranking/posterior.h"
#include "common/ranking/served_posterior.h"
#include "server/service/arm_set.h"

namespace bandana::server {

struct Explained {
  const PublicSpec& rules;
  const ServedPosterior& posterior;  // released values alone
  Whom whom;
  const ArmBlock& arms;
  const std::vector<int>& ranking;   // positions in `arms`
  const std::vector<double>& means;  // of `arms`
};

// One explanation per ranked arm: by effect where the model is of effects, else by field and cross
// of the schema, else one part. Parts of an arm that are 0 are left out. Means add up to the arm's:
// what rounding leaves is in the largest part. A part's width is what it would have alone.
// `scratch` is reused.
void FillExplanations(const Explained& explained, NodePosterior& scratch,
                      v1::SelectResponse& response);

}  // namespace bandana::server
