#include "server/models/catalogue/arm_catalogue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/files/arms_tsv.h"
#include "server/models/catalogue/arm_rules.h"

namespace bandana::server {
namespace {

// Arms without a file: the ids 0 .. d - 1.
std::vector<CatalogueArm> UnitArms(const ModelSpec& spec) {
  const auto d = static_cast<std::size_t>(spec.public_spec.dimension);
  std::vector<CatalogueArm> arms;
  for (std::size_t a = 0; a < d; ++a) {
    arms.push_back({.id = static_cast<std::uint32_t>(a), .features = std::vector<double>(d, 0.0)});
    arms.back().features[a] = 1;
  }
  return arms;
}

CatalogueShape CatalogueShapeOf(const ModelSpec& spec) {
  CatalogueShape shape{.dimension = spec.public_spec.dimension, .has_keys = false, .groups = {}};
  if (spec.effects) {
    shape.has_keys = true;
    shape.groups = spec.effects->arm_groups;
  }
  return shape;
}

absl::Duration FreeAfter(const ModelSpec& spec) {
  return spec.effects ? spec.effects->free_after : absl::InfiniteDuration();
}

}  // namespace

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

ArmCatalogue::ArmCatalogue(const ModelSpec& spec, ArmStore store, Counters& counters,
                           const Clock& clock)
    : spec_(spec),
      counters_(counters),
      store_(std::move(store)),
      clock_(clock),
      key_use_(CatalogueShapeOf(spec)),
      leaving_(FreeAfter(spec), mutex_, store_.table()) {}

absl::StatusOr<std::unique_ptr<ArmCatalogue>> ArmCatalogue::Open(const ModelSpec& spec,
                                                                 const TablePlace& place,
                                                                 Counters& counters,
                                                                 const Clock& clock) {
  BANDANA_ASSIGN_OR_RETURN(ArmStore store, ArmStore::Open(place));
  BANDANA_ASSIGN_OR_RETURN(std::vector<CatalogueArm> arms, store.Load());
  const auto wrong = std::find_if(arms.begin(), arms.end(), [&](const CatalogueArm& arm) {
    return arm.features.size() != static_cast<std::size_t>(spec.public_spec.dimension);
  });
  if (wrong != arms.end())
    return DataLoss(place.where, ": arm ", wrong->id, " has a wrong dimension");
  std::unique_ptr<ArmCatalogue> catalogue(
      new ArmCatalogue(spec, std::move(store), counters, clock));
  const bool unit_arms = FamilyOf(spec).has_unit_arms() && spec.arms_file.empty();
  if (unit_arms && arms.empty()) arms = UnitArms(spec);
  catalogue->catalogue_.store(Catalogue::Make(CatalogueShapeOf(spec), arms));
  catalogue->key_use_.Begin(*catalogue->catalogue());
  const auto in_use = [&](EffectKey key) {
    return catalogue->key_use_.Has(*catalogue->catalogue(), key);
  };
  BANDANA_RETURN_IF_ERROR(Annotate(catalogue->leaving_.Load(in_use), place.where));
  BANDANA_RETURN_IF_ERROR(Annotate(catalogue->LoadFile(), spec.arms_file));
  return catalogue;
}

absl::Status ArmCatalogue::LoadFile() {
  if (spec_.arms_file.empty()) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(spec_.arms_file, kArmsFileBytesMax));
  const Sha256Digest digest = Sha256Of(text);
  if (digest == store_.file() && catalogue()->size() > 0) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(
      std::vector<TsvArm> lines,
      ParseArmsTsv(text, spec_.public_spec.dimension, static_cast<std::uint64_t>(spec_.arms_max)));
  std::vector<CatalogueArm> arms;
  arms.reserve(lines.size());
  for (TsvArm& line : lines) {
    arms.push_back({.id = line.id,
                    .features = std::move(line.features),
                    .tags = std::move(line.tags),
                    .groups = std::move(line.groups),
                    .name = std::move(line.name),
                    .facts = std::move(line.facts)});
  }
  BANDANA_ASSIGN_OR_RETURN(arms, Check(arms));
  int added = 0;
  BANDANA_RETURN_IF_ERROR(CheckSize(arms, added));
  BANDANA_RETURN_IF_ERROR(CheckNames(arms));
  const ArmKeyUse::Change keys = KeysOf(arms, {});
  BANDANA_RETURN_IF_ERROR(store_.PutFromFile(arms, digest, keys.keys));
  Change(arms, {});
  return TakeKeys(keys);
}

absl::StatusOr<std::vector<CatalogueArm>> ArmCatalogue::Check(
    std::span<const CatalogueArm> arms) const {
  const ArmRules rules{.dimension = spec_.public_spec.dimension,
                       .feature_l2_max = spec_.public_spec.feature_l2_max,
                       .reject_features = spec_.public_spec.reject_features,
                       .groups = CatalogueShapeOf(spec_).groups,
                       .schema = spec_.public_spec.features.get()};
  std::vector<CatalogueArm> checked(arms.begin(), arms.end());
  absl::flat_hash_set<std::uint32_t> ids;
  absl::flat_hash_set<std::string> names;
  std::uint64_t clipped = 0;
  for (CatalogueArm& arm : checked) {
    if (!ids.insert(arm.id).second) return InvalidArgument("arm ", arm.id, " is there twice");
    if (!arm.name.empty() && !names.insert(arm.name).second) {
      return InvalidArgument("arm ", arm.id, " has the name of another arm");
    }
    BANDANA_RETURN_IF_ERROR(CheckArm(rules, arm, clipped));
    const absl::Status fits = FamilyOf(spec_).CheckArm(arm.features);
    if (!fits.ok()) return Annotate(fits, absl::StrCat("arm ", arm.id));
  }
  counters_.Add(Counters::kFeaturesClipped, clipped);
  return checked;
}

absl::Status ArmCatalogue::CheckSize(std::span<const CatalogueArm> arms, int& added) const {
  const std::shared_ptr<const Catalogue> now = catalogue();
  added = static_cast<int>(std::count_if(arms.begin(), arms.end(), [&](const CatalogueArm& arm) {
    return !now->Find(arm.id).has_value();
  }));
  if (now->size() + added <= spec_.arms_max) return absl::OkStatus();
  return FailedPrecondition("the catalogue has ", now->size(), " arms and would have ",
                            now->size() + added, ", arms_max is ", spec_.arms_max);
}

absl::Status ArmCatalogue::CheckNames(std::span<const CatalogueArm> arms) const {
  const std::shared_ptr<const Catalogue> now = catalogue();
  absl::flat_hash_set<std::uint32_t> put;  // they may give their names to others
  for (const CatalogueArm& arm : arms) put.insert(arm.id);
  for (const CatalogueArm& arm : arms) {
    if (arm.name.empty()) continue;
    const auto holder = now->FindName(arm.name);
    if (!holder || put.contains(holder->id)) continue;
    return InvalidArgument("arm ", arm.id, " has the name of arm ", holder->id);
  }
  return absl::OkStatus();
}

void ArmCatalogue::Follow(std::shared_ptr<EffectsPosterior> effects) {
  if (effects == nullptr || !effects->arms_apart()) return;
  std::lock_guard lock(mutex_);
  effects_ = std::move(effects);
  beliefs_.Follow(effects_.get());
  beliefs_.Begin();
  effects_->Watch([this](std::span<const EffectKey> arm) { beliefs_.Note(arm); });
  beliefs_.Fill(*catalogue(), {});
  beliefs_.End(catalogue());
}

std::shared_ptr<const Catalogue> ArmCatalogue::Change(std::span<const CatalogueArm> arms,
                                                      std::span<const std::uint32_t> removed) {
  const auto now = catalogue();
  beliefs_.Begin();
  auto next = now->With(arms, removed);
  if (!next->HasNamesOf(*now)) {
    beliefs_.Fill(*next, {});  // made anew
  } else if (!arms.empty()) {
    beliefs_.Fill(*next, arms);
  }
  beliefs_.End(next);
  catalogue_.store(next);
  return next;
}

absl::Status ArmCatalogue::TakeOver() {
  std::lock_guard lock(mutex_);
  std::vector<CatalogueArm> arms;
  BANDANA_ASSIGN_OR_RETURN(const RowsSince since, store_.ChangesSince(store_.version(), arms));
  std::vector<std::uint32_t> removed;
  if (since.whole) {
    absl::flat_hash_set<std::uint32_t> left;
    for (const CatalogueArm& arm : arms) left.insert(arm.id);
    catalogue()->ForEach([&](const CatalogueEntry& arm) {
      if (!left.contains(arm.id)) removed.push_back(arm.id);
      return true;
    });
  }
  Change(arms, removed);
  return absl::OkStatus();
}

ArmKeyUse::Change ArmCatalogue::KeysOf(std::span<const CatalogueArm> arms,
                                       std::span<const std::uint32_t> removed) const {
  ArmKeyUse::Change change = key_use_.Of(*catalogue(), arms, removed, clock_.Now());
  if (!leaving_.any()) change.keys.returned.clear();  // none of them has left
  return change;
}

absl::Status ArmCatalogue::TakeKeys(const ArmKeyUse::Change& change) {
  key_use_.Take(change);
  const bool none = change.keys.returned.empty() && change.keys.left.empty();
  return none ? absl::OkStatus() : leaving_.Update();
}

absl::Status ArmCatalogue::Put(std::span<const CatalogueArm> arms, v1::PutArmsResponse* response) {
  BANDANA_ASSIGN_OR_RETURN(std::vector<CatalogueArm> checked, Check(arms));
  std::lock_guard lock(mutex_);
  int added = 0;
  BANDANA_RETURN_IF_ERROR(CheckSize(checked, added));
  BANDANA_RETURN_IF_ERROR(CheckNames(checked));
  const ArmKeyUse::Change keys = KeysOf(checked, {});
  BANDANA_RETURN_IF_ERROR(store_.Put(checked, keys.keys));
  const auto next = Change(checked, {});
  BANDANA_RETURN_IF_ERROR(TakeKeys(keys));
  response->set_added(static_cast<std::uint32_t>(added));
  response->set_replaced(static_cast<std::uint32_t>(arms.size()) - response->added());
  response->set_arms(static_cast<std::uint32_t>(next->size()));
  return absl::OkStatus();
}

absl::StatusOr<v1::RemoveArmsResponse> ArmCatalogue::Remove(std::span<const std::uint32_t> ids) {
  std::lock_guard lock(mutex_);
  const ArmKeyUse::Change keys = KeysOf({}, ids);
  BANDANA_RETURN_IF_ERROR(store_.Remove(ids, keys.keys));
  const int before = catalogue()->size();
  const auto next = Change({}, ids);
  BANDANA_RETURN_IF_ERROR(TakeKeys(keys));
  const int removed = before - next->size();
  v1::RemoveArmsResponse response;
  response.set_removed(static_cast<std::uint32_t>(removed));
  response.set_arms(static_cast<std::uint32_t>(next->size()));
  return response;
}

}  // namespace bandana::server
