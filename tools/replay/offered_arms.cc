#include "tools/replay/offered_arms.h"

#include <span>
#include <utility>

#include "common/base/status.h"
#include "common/features/schema.h"
#include "common/mechanisms/feature_ball.h"

namespace bandana {

void OfferedArms::Put(std::uint32_t id, Arm arm) {
  ClipToBall(arm.features, spec_.public_spec.feature_l2_max);
  catalogue_[id] = std::move(arm);
}

void OfferedArms::FindKeys(const LoggedSlot& slot) {
  keys_.clear();
  if (!spec_.effects) return;
  const std::size_t parts = 1 + spec_.effects->arm_groups.size();
  for (std::size_t arm = 0; arm < slot.arms(); ++arm) {
    const auto known = slot.ids.empty() ? catalogue_.end() : catalogue_.find(slot.ids[arm]);
    if (known != catalogue_.end()) {
      keys_.insert(keys_.end(), known->second.keys.begin(), known->second.keys.end());
      continue;
    }
    keys_.resize(keys_.size() + parts, kAbsent);
    EffectKey& own = keys_[keys_.size() - parts];
    if (!slot.ids.empty()) own = ArmKey(slot.ids[arm]);
    if (!slot.names.empty()) own = NamedArmKey(slot.names[arm]);
  }
}

absl::Status OfferedArms::Find(const LoggedSlot& slot) {
  if (slot.ids.empty() && slot.names.empty() && slot.x.empty()) {
    return FailedPrecondition("arms: the line names no arms");
  }
  const PublicSpec& rules = spec_.public_spec;
  const auto d = static_cast<std::size_t>(rules.dimension);
  const std::size_t n = slot.arms();
  features_.resize(n);
  if (!slot.x.empty() && slot.x.size() != n * d) {
    return FailedPrecondition("x: has ", slot.x.size() / n, " features per arm, the model ", d);
  }
  if (slot.x.empty() && rules.features != nullptr && rules.features->context_fields() > 0) {
    return FailedPrecondition(
        "x: the line has no features of its arms, and the catalogue's alone do not make them: the "
        "model's features have fields of the context");
  }
  for (std::size_t arm = 0; arm < n; ++arm) {
    if (!slot.x.empty()) {
      features_[arm] = slot.x.data() + arm * d;
      continue;
    }
    const auto known = slot.ids.empty() ? catalogue_.end() : catalogue_.find(slot.ids[arm]);
    if (known == catalogue_.end()) {
      return FailedPrecondition(
          "x: the line has no features of its arms (logged with `contexts`), and the model's "
          "catalogue does not have them all");
    }
    features_[arm] = known->second.features.data();
  }
  FindKeys(slot);
  return absl::OkStatus();
}

ArmsOnOffer OfferedArms::only(std::size_t position) const {
  const std::size_t parts = keys_.size() / features_.size();
  return {.features = std::span(features_).subspan(position, 1),
          .keys = std::span(keys_).subspan(position * parts, parts)};
}

}  // namespace bandana
