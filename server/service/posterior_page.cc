#include "server/service/posterior_page.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/selection_policy.h"
#include "common/promise/mode.h"

namespace bandana::server {
namespace {

int NodesPerPage(int d) {
  const int doubles = d + d * (d + 1) / 2 + 1;
  return std::max(1, kPosteriorPageBytes / (8 * doubles));
}

// Requires a posterior by which devices rank: then there is a Law.
void AppendLaw(const ServedPosterior& posterior, const Whom& whom, int d,
               v1::GetPosteriorResponse& response) {
  NodePosterior scratch;
  const std::optional<ScoreLaw> law = posterior.Law(whom, scratch);
  BANDANA_CHECK(law.has_value());
  const NodePosterior& node = *law->posterior;
  response.set_constant_mean(law->mean);
  response.set_constant_variance(law->variance);
  response.mutable_means()->Add(node.mean.begin(), node.mean.end());
  for (int row = 0; row < d; ++row) {
    const double* begin = node.covariance.data() + static_cast<std::ptrdiff_t>(row) * d;
    response.mutable_covariances()->Add(begin, begin + row + 1);
  }
  response.add_alphas(node.alpha);
}

}  // namespace

absl::Status FillPosterior(const SelectingModel& model, const v1::GetPosteriorRequest& request,
                           v1::GetPosteriorResponse& response) {
  BANDANA_RETURN_IF_ERROR(FamilyOf(model.spec()).CheckRankedByDevices(model.spec()));
  BANDANA_RETURN_IF_ERROR(CheckRankedByScore(model.spec()));
  const std::string_view no_users = ModeOf(model.spec().public_spec.mode).no_users;
  if (!no_users.empty() && !request.user().empty()) return InvalidArgument(ToAbsl(no_users));
  const std::shared_ptr<const ServedPosterior> posterior = model.posterior();
  const int d = model.spec().public_spec.dimension;
  int user_node = 0;
  if (!request.user().empty()) {
    BANDANA_ASSIGN_OR_RETURN(user_node, model.ResolveUser(request.user()));
  } else if (request.first_node() > static_cast<std::uint32_t>(posterior->nodes())) {
    return InvalidArgument("first_node: must be at most the number of nodes, ", posterior->nodes(),
                           ", got ", request.first_node());
  }
  response.set_version(posterior->version());
  if (request.if_newer_than() != 0 && posterior->version() <= request.if_newer_than()) {
    response.set_not_modified(true);
    return absl::OkStatus();
  }
  std::vector<EffectKey> keys = {UserKey("")};  // of a user of whom nothing is known
  if (!request.user().empty()) {
    model.UserParts(request.user(), keys);
    response.set_first_node(static_cast<std::uint32_t>(std::max(user_node, 0)));
    AppendLaw(*posterior, {.node = user_node, .keys = keys}, d, response);
    return absl::OkStatus();
  }
  const int first = static_cast<int>(request.first_node());
  const int end = std::min(posterior->nodes(), first + NodesPerPage(d));
  response.set_first_node(request.first_node());
  const int doubles = d * (d + 1) / 2;
  response.mutable_means()->Reserve((end - first) * d);
  response.mutable_covariances()->Reserve((end - first) * doubles);
  for (int node = first; node < end; ++node) {
    AppendLaw(*posterior, {.node = node, .keys = keys}, d, response);
  }
  response.set_next_node(end < posterior->nodes() ? static_cast<std::uint32_t>(end) : 0);
  return absl::OkStatus();
}

}  // namespace bandana::server
