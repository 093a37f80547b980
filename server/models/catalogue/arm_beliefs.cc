#include "server/models/catalogue/arm_beliefs.h"

#include <optional>
#include <utility>

namespace bandana::server {

void ArmBeliefs::Tell(const Catalogue& catalogue, const Noted& noted) {
  const auto mean = static_cast<float>(noted.belief.mean);
  const auto variance = static_cast<float>(noted.belief.variance);
  if (noted.part > 0) {
    const ArmNames& values = catalogue.group_values(static_cast<std::size_t>(noted.part) - 1);
    const std::uint32_t number = values.FindKey(noted.key);
    if (number != ArmNames::kNone) values.SetBelief(number, mean, variance);
    return;
  }
  const std::optional<std::uint32_t> id = ArmIdOf(noted.key);
  const auto entry = id ? catalogue.Find(*id) : std::nullopt;
  if (entry) entry->page->SetBelief(entry->row, mean, variance);
}

void ArmBeliefs::Follow(const EffectsPosterior* effects) {
  effects_ = effects;
  priors_ = Priors();
}

std::vector<double> ArmBeliefs::Priors() const {
  std::vector<double> priors;
  priors.reserve(static_cast<std::size_t>(effects_->options().arm_parts));
  for (int part = 0; part < effects_->options().arm_parts; ++part) {
    priors.push_back(effects_->PartBelief(part, kEverybody).variance);  // no arm's, no group's key
  }
  return priors;
}

void ArmBeliefs::Note(std::span<const EffectKey> arm) {
  if (std::vector<double> priors = Priors(); priors != priors_) {
    priors_ = std::move(priors);
    const std::lock_guard lock(mutex_);
    if (told_ != nullptr) Fill(*told_, {});
    fill_again_ = changing_;
  }
  for (std::size_t part = 0; part < arm.size(); ++part) {
    if (arm[part] == kAbsent) continue;
    const Noted noted{.part = static_cast<int>(part),
                      .key = arm[part],
                      .belief = effects_->PartBelief(static_cast<int>(part), arm[part])};
    const std::lock_guard lock(mutex_);
    if (told_ != nullptr) Tell(*told_, noted);
    if (changing_) noted_.push_back(noted);
  }
}

void ArmBeliefs::Begin() {
  const std::lock_guard lock(mutex_);
  changing_ = true;
}

void ArmBeliefs::FillArm(const Catalogue& next, const CatalogueEntry& arm) const {
  for (std::size_t part = 0; part < arm.keys.size(); ++part) {
    const auto position = static_cast<int>(part);
    if (arm.keys[part] == kAbsent) continue;
    Tell(next, {.part = position,
                .key = arm.keys[part],
                .belief = effects_->PartBelief(position, arm.keys[part])});
  }
}

void ArmBeliefs::Fill(const Catalogue& next, std::span<const CatalogueArm> arms) const {
  if (effects_ == nullptr) return;
  for (const CatalogueArm& arm : arms) {
    if (const auto entry = next.Find(arm.id)) FillArm(next, *entry);
  }
  if (!arms.empty()) return;
  next.ForEach([&](const CatalogueEntry& entry) {
    FillArm(next, entry);
    return true;
  });
}

void ArmBeliefs::End(std::shared_ptr<const Catalogue> next) {
  const std::lock_guard lock(mutex_);
  if (fill_again_) Fill(*next, {});
  fill_again_ = false;
  for (const Noted& noted : noted_) Tell(*next, noted);
  noted_.clear();
  changing_ = false;
  told_ = std::move(next);
}

}  // namespace bandana::server
