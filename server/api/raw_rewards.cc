#include "server/api/raw_rewards.h"

#include <algorithm>

#include "bandana/v1/recommender.pb.h"
#include "common/base/status.h"
#include "common/design/wire_messages.h"
#include "common/promise/mode.h"

namespace bandana::server {
namespace {

constexpr std::string_view kUseSdk =
    "its rewards are randomized on the device, before anything is sent: use the SDK (docs/sdk.md), "
    "which reports by Submit";

constexpr RawRewardRule kRules[] = {
    {.mode = v1::NON_PRIVATE},
    {.mode = v1::LOCAL_REWARD, .refused = kUseSdk},
    {.mode = v1::CENTRAL_REWARD, .any_counts = true},
    {.mode = v1::JOINT,
     .any_counts = true,
     .no_slots = "mode JOINT hides a whole round: a decision is one event, with one arm shown"},
    {.mode = v1::LOCAL_CONTEXT, .refused = kUseSdk},
};

constexpr RawRewardRule kUnknown{.refused = "its mode is not known here"};

}  // namespace

const RawRewardRule& RawRewardsOf(v1::Mode mode) {
  const auto* const rule = std::ranges::find(kRules, mode, &RawRewardRule::mode);
  return rule == std::end(kRules) ? kUnknown : *rule;
}

absl::StatusOr<const RawRewardRule*> RuleForReports(Handlers& handlers, const std::string& model) {
  v1::GetModelRequest request;
  v1::GetModelResponse response;
  request.set_model(model);
  BANDANA_RETURN_IF_ERROR(handlers.GetModel(request, response));
  const RawRewardRule& rule = RawRewardsOf(response.mode());
  if (rule.refused.empty()) return &rule;
  return FailedPrecondition("model ", model, ": ", ToAbsl(rule.refused));
}

bool TakesAnyContext(Handlers& handlers, const std::string& model) {
  v1::GetModelRequest request;
  v1::GetModelResponse response;
  request.set_model(model);
  return handlers.GetModel(request, response).ok() && HidesContexts(FromProto(response.mode()));
}

}  // namespace bandana::server
