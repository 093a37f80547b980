#include "server/service/point_selection.h"

#include <memory>
#include <utility>

#include "common/bandits/bco/convex_policy.h"
#include "common/base/status.h"
#include "common/random/buffered_bits.h"
#include "server/service/open_decision.h"
#include "server/service/tokens/random_buffer.h"

namespace bandana::server {

absl::Status SelectPoint(HostedModel& model, const v1::SelectRequest& request, absl::Time now,
                         TokenCodec& tokens, v1::SelectResponse& response) {
  const ModelSpec& spec = model.spec();
  BANDANA_RETURN_IF_ERROR(CheckRequest(request, model.spec().public_spec.dimension));
  if (request.has_arms()) {
    return InvalidArgument("arms: must be absent, model ", spec.public_spec.name, " is of points");
  }
  if (request.top_k() > 1) {
    return InvalidArgument("top_k: must be 0 or 1 for a model of points, got ", request.top_k());
  }
  BANDANA_ASSIGN_OR_RETURN(const int node, model.ResolveUser(request.user()));
  const std::shared_ptr<const PosteriorSnapshot> posterior = model.posterior();
  const NodePosterior& state = posterior->node(node);
  RealSampler sampler(BufferedBits());
  BANDANA_ASSIGN_OR_RETURN(ConvexPlay play,
                           PlayOnEllipsoid(spec.points->domain, state.mean, state.alpha, sampler));

  Decision decision;
  BANDANA_RETURN_IF_ERROR(FillRandom(decision.id));
  PlaceDecision(model, request, node, now, decision);
  decision.arms.push_back({.propensity = 1, .features = std::move(play.factor), .window = {}});
  BANDANA_RETURN_IF_ERROR(SealDecision(model, decision, tokens, *response.mutable_token()));
  const std::vector<double>& point = play.points[0];
  response.mutable_point()->Add(point.begin(), point.end());
  response.set_posterior_version(posterior->version());
  return absl::OkStatus();
}

}  // namespace bandana::server
