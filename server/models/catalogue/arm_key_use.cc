#include "server/models/catalogue/arm_key_use.h"

#include <optional>

#include "absl/container/flat_hash_set.h"

namespace bandana::server {

std::int64_t ArmKeyUse::ArmsOf(EffectKey key) const {
  const auto known = arms_.find(key);
  return known == arms_.end() ? 0 : known->second;
}

bool ArmKeyUse::Has(const Catalogue& catalogue, EffectKey key) const {
  const std::optional<std::uint32_t> id = ArmIdOf(key);
  return ArmsOf(key) > 0 || (id && catalogue.Find(*id));
}

void ArmKeyUse::Begin(const Catalogue& catalogue) {
  arms_.clear();
  if (shape_.groups.empty()) return;
  catalogue.ForEach([&](const CatalogueEntry& entry) {
    for (const EffectKey key : entry.keys.subspan(1)) {
      if (key != kAbsent) ++arms_[key];
    }
    return true;
  });
}

ArmKeyUse::Change ArmKeyUse::Of(const Catalogue& now, std::span<const CatalogueArm> arms,
                                std::span<const std::uint32_t> removed, absl::Time time) const {
  Change change{.keys = {.returned = {}, .left = {}, .now = time}, .arms = {}};
  if (!shape_.has_keys) return change;
  const auto leave = [&](const CatalogueEntry& entry) {
    for (const EffectKey key : entry.keys.subspan(1)) {
      if (key != kAbsent) --change.arms[key];
    }
  };
  for (const CatalogueArm& arm : arms) {
    for (const auto& [name, value] : arm.groups) ++change.arms[GroupKey(name, value)];
    if (const auto entry = now.Find(arm.id)) {
      leave(*entry);
    } else {
      change.keys.returned.push_back(ArmKey(arm.id));
    }
  }
  absl::flat_hash_set<std::uint32_t> gone;
  for (const std::uint32_t id : removed) {
    const auto entry = now.Find(id);
    if (!entry || !gone.insert(id).second) continue;
    leave(*entry);
    change.keys.left.push_back(ArmKey(id));
  }
  for (const auto& [key, more] : change.arms) {
    const std::int64_t before = ArmsOf(key);
    if (before == 0 && more > 0) change.keys.returned.push_back(key);
    if (before > 0 && before + more == 0) change.keys.left.push_back(key);
  }
  return change;
}

void ArmKeyUse::Take(const Change& change) {
  for (const auto& [key, more] : change.arms) {
    if ((arms_[key] += more) == 0) arms_.erase(key);
  }
}

}  // namespace bandana::server
