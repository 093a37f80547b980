#include "server/models/admission/reported_event.h"

#include <algorithm>
#include <cstddef>

#include "common/design/family.h"
#include "common/design/user_nodes.h"
#include "common/promise/mode.h"

namespace bandana::server {

absl::Time TokenTime(const Decision& decision) {
  return absl::FromUnixMicros(absl::ToUnixMicros(decision.time));
}

EventRecord EventOf(const Decision& decision, std::uint32_t shown) {
  const SealedArm& arm = *ArmOfRank(decision, shown);
  return {.id = decision.id,
          .epoch = decision.epoch,
          .time = TokenTime(decision),
          .node = decision.user.empty() ? decision.node : -1,
          .user = decision.user,
          .features = arm.features,
          .keys = arm.keys};
}

bool FitsModel(const ModelSpec& spec, const Decision& decision) {
  const auto d = static_cast<std::size_t>(spec.public_spec.dimension);
  const std::size_t keys = FamilyOf(spec).key_parts(spec);
  const auto right_size = [&](const SealedArm& arm) {
    return arm.features.size() == d && arm.keys.size() == keys;
  };
  if (!std::all_of(decision.arms.begin(), decision.arms.end(), right_size)) return false;
  return UserNodesOf(spec).Fits(spec, {decision.node, decision.user});
}

bool MayShow(const ModelSpec& spec, const Decision& decision, std::uint32_t shown) {
  if (ArmOfRank(decision, shown) == nullptr) return false;
  const PublicSpec& p = spec.public_spec;
  return shown == decision.shown || !p.reward_window || !ModeOf(p.mode).is_private;
}

}  // namespace bandana::server
