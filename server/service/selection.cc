#include "server/service/selection.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/mode_limits.h"
#include "common/design/user_nodes.h"
#include "common/promise/mode.h"
#include "server/service/arm_selection.h"
#include "server/service/decision_rules.h"
#include "server/service/logged_offer.h"
#include "server/service/min_version.h"
#include "server/service/new_users.h"
#include "server/service/point_selection.h"
#include "server/service/policies/choice.h"
#include "server/service/tokens/random_buffer.h"

namespace bandana::server {
namespace {

static_assert(kRankedFeaturesMax == 4096);  // in the message

// Errors: INVALID_ARGUMENT the request's top_k is above kTopKMax, or so many arms of the model's
// dimension have more features than a token carries; or its user id's length.
absl::Status CheckRequest(const v1::SelectRequest& request, int dimension) {
  const bool large = dimension > kDimensionMax;  // sparse models
  const int top_k_max = large ? kRankedFeaturesMax / dimension : kTopKMax;
  if (request.top_k() > static_cast<std::uint32_t>(top_k_max)) {
    return InvalidArgument("top_k: must be in [0, ", top_k_max, "], got ", request.top_k(),
                           large ? ": a token carries at most 4096 features" : "");
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

// Fills in all but id and arms.
void PlaceDecision(const Selecting& select, absl::Time now, Decision& decision) {
  decision.instance = select.model.instance();
  decision.epoch = select.model.epoch();
  decision.time = now;
  decision.shown = select.request.shown();
  decision.deferred = select.request.deferred();
  decision.shown_alone = SealedRanksOf(select.request) < RanksOf(select.request);
  const UserNodes::Address address =
      UserNodesOf(select.model.spec()).AddressOf(select.node, select.request.user());
  decision.node = address.node;
  decision.user = address.user;
}

// Makes a decision per ranked arm, with an id of its own, of the first.
absl::Status SplitIntoSlots(std::vector<Decision>& slots) {
  const std::vector<SealedArm> arms = std::move(slots.front().arms);
  slots.front().arms.clear();
  slots.resize(arms.size(), slots.front());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    slots[i].arms = {arms[i]};
    BANDANA_RETURN_IF_ERROR(FillRandom(slots[i].id));
  }
  return absl::OkStatus();
}

absl::Status SealSlots(const ResolvedModel& to, const v1::SelectRequest& request,
                       std::span<const Decision> slots, TokenCodec& tokens,
                       v1::SelectResponse& response) {
  thread_local AskedAlias asked;
  if (to.alias != nullptr) {
    asked.alias = to.alias->spec.name;
    asked.model = to.model->spec().public_spec.name;
  }
  // Where contexts are private the size must not tell how many arms were on offer.
  const int room = LimitsOf(to.model->spec().public_spec.mode).ranks_in_token;
  const auto ranks = static_cast<std::size_t>(std::min(room, SealedRanksOf(request)));
  for (const Decision& slot : slots) {
    std::string& token =
        request.slots() > 0 ? *response.add_slot_tokens() : *response.mutable_token();
    BANDANA_RETURN_IF_ERROR(
        tokens.Seal(slot, to.alias == nullptr ? nullptr : &asked, ranks, token));
  }
  return absl::OkStatus();
}

// After sealing: an open decision without a token could never be reported.
absl::Status ShowSlots(SelectingModel& model, std::span<const Decision> slots) {
  const bool keeps_shown = model.spec().effects && model.spec().effects->seen;
  if (model.spec().public_spec.reward_window || keeps_shown) {
    BANDANA_RETURN_IF_ERROR(model.RecordSlots(slots));
  }
  for (const Decision& slot : slots) {
    if (const auto& agreed = slot.arms.front().agreed) model.CountBaseline(*agreed);
  }
  return absl::OkStatus();
}

// By Family::Choice.
constexpr Chooser kChoosers[] = {RankArms, DrawArms, PlayPoint};

}  // namespace

absl::Status Select(const ResolvedModel& to, const v1::SelectRequest& request, int arms_max,
                    absl::Time now, TokenCodec& tokens, v1::SelectResponse& response) {
  SelectingModel& model = *to.model;
  const ModelSpec& spec = model.spec();
  const std::string_view refused = ModeOf(spec.public_spec.mode).no_select;
  if (!refused.empty()) return FailedPrecondition(ToAbsl(refused));
  BANDANA_RETURN_IF_ERROR(CheckMinVersion(to, request.min_version()));
  BANDANA_RETURN_IF_ERROR(CheckRequest(request, spec.public_spec.dimension));
  BANDANA_RETURN_IF_ERROR(CheckDecisionFields(request, spec));
  BANDANA_ASSIGN_OR_RETURN(const int node, model.ResolveUser(request.user()));
  thread_local std::vector<EffectKey> keys;
  model.UserParts(request.user(), keys);
  // A deferred decision makes nobody known before its activation.
  if (Learns(request) && !request.deferred() && !AllowDecision(model, request.user())) {
    return absl::ResourceExhaustedError(
        "user: the caller has made as many users known to the model as it may in a day");
  }
  thread_local StoredDecision logged;
  const bool is_logged = IsLogged(model, request);
  std::optional<bool> explored;
  const Selecting select{.model = model,
                         .request = request,
                         .node = node,
                         .keys = keys,
                         .arms_max = arms_max,
                         .now = now,
                         .logged = is_logged ? &logged : nullptr,
                         .explored = &explored};
  thread_local std::vector<Decision> slots;
  slots.resize(1);
  Decision& decision = slots.front();
  BANDANA_RETURN_IF_ERROR(FillRandom(decision.id));
  const auto choice = static_cast<std::size_t>(FamilyOf(spec).choice());
  BANDANA_RETURN_IF_ERROR(kChoosers[choice](select, decision, response));
  PlaceDecision(select, model.TimeAt(now), decision);
  if (to.alias != nullptr) response.set_posterior_version(to.Shown(response.posterior_version()));
  response.set_decision_id(request.decision_id());
  if (!Learns(request)) return absl::OkStatus();
  if (request.slots() > 0) BANDANA_RETURN_IF_ERROR(SplitIntoSlots(slots));
  for (Decision& slot : slots) model.NumberDecision(slot.id);
  BANDANA_RETURN_IF_ERROR(SealSlots(to, request, slots, tokens, response));
  if (!request.deferred()) BANDANA_RETURN_IF_ERROR(ShowSlots(model, slots));
  model.CountChoice(explored);
  if (!is_logged) return absl::OkStatus();
  FillSlots(slots, logged);
  model.LogDecision(logged, request.user());
  return absl::OkStatus();
}

}  // namespace bandana::server
