#include "server/service/open_decision.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/user_nodes.h"

namespace bandana::server {

static_assert(kRankedFeaturesMax == 4096);  // in the message

absl::Status CheckRequest(const v1::SelectRequest& request, int dimension) {
  const int top_k_max = std::min(kTopKMax, kRankedFeaturesMax / dimension);
  if (request.top_k() > static_cast<std::uint32_t>(top_k_max)) {
    return InvalidArgument("top_k: must be in [0, ", top_k_max, "], got ", request.top_k(),
                           top_k_max < kTopKMax ? ": a token carries at most 4096 features" : "");
  }
  const std::uint32_t ranks = std::max(request.top_k(), 1u);
  if (request.shown() >= ranks) {
    return InvalidArgument("shown: must be in [0, ", ranks, "), got ", request.shown());
  }
  if (request.user().empty() || request.user().size() > kUserIdBytesMax) {
    return InvalidArgument("user: must have 1 to ", kUserIdBytesMax, " bytes, got ",
                           request.user().size());
  }
  return absl::OkStatus();
}

void PlaceDecision(const HostedModel& model, const v1::SelectRequest& request, int node,
                   absl::Time now, Decision& decision) {
  decision.instance = model.instance();
  decision.epoch = model.epoch();
  decision.time = now;
  decision.shown = request.shown();
  const UserNodes::Address address = UserNodesOf(model.spec()).AddressOf(node, request.user());
  decision.node = address.node;
  decision.user = address.user;
}

absl::Status SealDecision(HostedModel& model, const Decision& decision, TokenCodec& tokens,
                          std::string& token) {
  BANDANA_RETURN_IF_ERROR(tokens.Seal(decision, token));
  // After sealing: an open decision without a token could never be reported.
  if (!model.spec().public_spec.reward_window.has_value()) return absl::OkStatus();
  return model.RecordDecision(decision);
}

}  // namespace bandana::server
