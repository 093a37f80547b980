#include "server/service/point_selection.h"

#include <memory>
#include <utility>

#include "common/bandits/bco/convex_policy.h"
#include "common/base/status.h"
#include "common/random/buffered_bits.h"

namespace bandana::server {

absl::Status PlayPoint(const Selecting& select, Decision& decision, v1::SelectResponse& response) {
  const ModelSpec& spec = select.model.spec();
  if (select.request.has_arms()) {
    return InvalidArgument("arms: must be absent, model ", spec.public_spec.name, " is of points");
  }
  if (select.request.has_context() || select.request.explain()) {
    return InvalidArgument(select.request.explain() ? "explain" : "context",
                           ": must be absent, model ", spec.public_spec.name, " is of points");
  }
  if (select.request.top_k() > 1) {
    return InvalidArgument("top_k: must be 0 or 1 for a model of points, got ",
                           select.request.top_k());
  }
  const std::shared_ptr<const ServedPosterior> posterior = select.model.posterior();
  NodePosterior scratch;
  const NodePosterior& state = posterior->Of({.node = select.node}, scratch);
  RealSampler sampler(BufferedBits());
  BANDANA_ASSIGN_OR_RETURN(ConvexPlay play,
                           PlayOnEllipsoid(spec.points->domain, state.mean, state.alpha, sampler));
  decision.arms.resize(1);
  decision.arms[0] = {.propensity = 1, .features = std::move(play.factor), .window = {}};
  const std::vector<double>& point = play.points[0];
  response.mutable_point()->Add(point.begin(), point.end());
  response.set_posterior_version(posterior->version());
  return absl::OkStatus();
}

}  // namespace bandana::server
