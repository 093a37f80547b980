#include "server/service/decision_rules.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/mode_limits.h"
#include "common/promise/event_rule.h"
#include "common/promise/mode.h"
#include "server/service/access/capability.h"

namespace bandana::server {
namespace {

static_assert(kCapabilityBytesMax <= std::size_t{kDecisionIdBytesMax});

absl::Status CheckId(const std::string& id, const ModelSpec& spec) {
  if (id.size() > std::size_t{kDecisionIdBytesMax}) {
    return InvalidArgument("decision_id: must have 1 to ", kDecisionIdBytesMax, " bytes, got ",
                           id.size());
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(id, is_control)) {
    return InvalidArgument("decision_id: must have no control characters");
  }
  const std::string_view why = LimitsOf(spec.public_spec.mode).plain_names;
  return id.empty() || why.empty() ? absl::OkStatus() : CheckCapability("decision_id", id, why);
}

absl::Status CheckSlots(const v1::SelectRequest& request, const ModelSpec& spec) {
  if (request.slots() > kSlotsMax) {
    return InvalidArgument("slots: must be in [0, ", kSlotsMax, "], got ", request.slots());
  }
  if (request.slots() == 0) {
    if (request.slot_baselines_size() == 0) return absl::OkStatus();
    return InvalidArgument("slot_baselines: must be empty without slots; use baseline");
  }
  const ModeRow& mode = ModeOf(spec.public_spec.mode);
  if (!mode.no_slots.empty()) return InvalidArgument("slots: must be 0: ", ToAbsl(mode.no_slots));
  if (request.top_k() > 0) {
    return InvalidArgument("top_k: must be 0 with slots, got ", request.top_k());
  }
  if (request.shown() > 0) {
    return InvalidArgument("shown: must be 0 with slots, all of which are shown, got ",
                           request.shown());
  }
  if (request.has_baseline()) {
    return InvalidArgument("baseline: must be absent with slots; use slot_baselines");
  }
  const auto own = static_cast<std::uint32_t>(request.slot_baselines_size());
  if (own == 0 || own == request.slots()) return absl::OkStatus();
  return InvalidArgument("slot_baselines: must be empty or have one position per slot, ",
                         request.slots(), ", got ", own);
}

bool HasBaseline(const v1::SelectRequest& request) {
  return request.has_baseline() || request.slot_baselines_size() > 0;
}

// Models of arms and of points.
absl::Status CheckOwnChoice(const v1::SelectRequest& request, const ModelSpec& spec) {
  const Family::Scope scope = FamilyOf(spec).scope();
  if (scope.own_choice.empty()) return absl::OkStatus();
  const std::string_view field = request.has_rules()   ? "rules"
                                 : request.slots() > 0 ? "slots"
                                                       : "baseline";
  if (!request.has_rules() && request.slots() == 0 && !HasBaseline(request)) {
    return absl::OkStatus();
  }
  return InvalidArgument(ToAbsl(field), ": is not for ", ToAbsl(scope.plural), ": ",
                         ToAbsl(scope.own_choice));
}

// The stored answer of a named decision has one size there.
absl::Status CheckKept(const v1::SelectRequest& request, const ModelSpec& spec) {
  if (request.decision_id().empty() || !request.explain()) return absl::OkStatus();
  if (LimitsOf(spec.public_spec.mode).plain_names.empty()) return absl::OkStatus();
  return InvalidArgument(
      "explain: must be false with decision_id where contexts are private: the answer is kept, and "
      "its length would tell of them");
}

absl::Status CheckDeferred(const PublicSpec& spec) {
  const std::string_view refused = EventRuleOf(spec).no_deferral;
  return refused.empty() ? absl::OkStatus() : InvalidArgument("deferred: ", ToAbsl(refused));
}

// Nothing is remembered of such a decision.
absl::Status CheckUnlearnt(const v1::SelectRequest& request) {
  const auto excluded = [](std::string_view field) {
    return InvalidArgument(ToAbsl(field),
                           ": must be absent with learn: false: nothing is remembered of such a "
                           "decision");
  };
  if (!request.decision_id().empty()) return excluded("decision_id");
  if (request.deferred()) return excluded("deferred");
  if (request.has_baseline()) return excluded("baseline");
  if (request.slot_baselines_size() > 0) return excluded("slot_baselines");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDecisionFields(const v1::SelectRequest& request, const ModelSpec& spec) {
  BANDANA_RETURN_IF_ERROR(CheckId(request.decision_id(), spec));
  BANDANA_RETURN_IF_ERROR(CheckKept(request, spec));
  BANDANA_RETURN_IF_ERROR(CheckSlots(request, spec));
  BANDANA_RETURN_IF_ERROR(CheckOwnChoice(request, spec));
  if (request.has_baseline() && request.shown() > 0) {
    return InvalidArgument("shown: must be 0 with baseline, which is the arm that is shown, got ",
                           request.shown());
  }
  if (!Learns(request)) BANDANA_RETURN_IF_ERROR(CheckUnlearnt(request));
  return request.deferred() ? CheckDeferred(spec.public_spec) : absl::OkStatus();
}

}  // namespace bandana::server
