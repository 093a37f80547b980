#include "server/service/rules/seen_rule.h"

#include <memory>
#include <string_view>

#include "common/base/status.h"
#include "common/design/mode_limits.h"
#include "common/design/wire_messages.h"
#include "common/promise/model_rules.h"

namespace bandana::server {
namespace {

// A time of the message; its range is checked where it is used.
absl::Duration TimeOf(const google::protobuf::Duration& given) {
  return absl::Seconds(given.seconds()) + absl::Nanoseconds(given.nanos());
}

}  // namespace

absl::Status ExcludeSeen(const Selecting& select, const v1::SeenRule& rule,
                         std::vector<std::uint32_t>& excluded) {
  const ModelSpec& spec = select.model.spec();
  const ModeLimits& limits = LimitsOf(spec.public_spec.mode);
  const bool rewarded = rule.seen() == v1::SeenRule::REWARDED;
  if (!rewarded && rule.seen() != v1::SeenRule::SHOWN) {
    return InvalidArgument("rules.exclude_seen.seen: must be SHOWN or REWARDED");
  }
  const std::string_view refused =
      limits.no_shown.empty() && rewarded ? limits.no_rewarded : limits.no_shown;
  if (!refused.empty()) return InvalidArgument("rules.exclude_seen: ", ToAbsl(refused));
  const std::shared_ptr<const SeenArms> seen = select.model.seen();
  if (!spec.effects || !spec.effects->seen || seen == nullptr || select.keys.empty()) {
    return FailedPrecondition(
        "rules.exclude_seen: model ", spec.public_spec.name,
        " keeps no arms that users were shown: it has no effects { seen {} }");
  }
  const absl::Duration kept = spec.effects->seen->kept;
  const absl::Duration within = rule.has_within() ? TimeOf(rule.within()) : kept;
  if (within < absl::Seconds(1) || within > kept) {
    return InvalidArgument("rules.exclude_seen.within: must be in [1s, ",
                           absl::FormatDuration(kept), "], which effects.seen.kept says, got ",
                           absl::FormatDuration(within));
  }
  const SeenKind kind = rewarded ? SeenKind::kRewarded : SeenKind::kShown;
  for (const SeenArms::Seen& arm : seen->Of(kind, select.keys.front(), select.now - within)) {
    excluded.push_back(arm.arm);
  }
  return absl::OkStatus();
}

}  // namespace bandana::server
