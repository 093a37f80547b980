#include "server/service/arm_set.h"

#include <algorithm>
#include <cstring>

#include "common/base/status.h"
#include "common/features/value_log.h"
#include "common/mechanisms/feature_ball.h"

namespace bandana::server {
namespace {

constexpr std::size_t kDoublesPerCacheLine = 8;

absl::Status TooMany(std::size_t n, int arms_max) {
  return InvalidArgument("arms: at most ", arms_max, " arms a decision, got ", n);
}

// Clips one arm that is not inside the ball.
absl::Status ClipArm(const FeatureBounds& bounds, std::size_t arm, std::span<double> x,
                     std::size_t& clipped) {
  switch (ClipToBall(x, bounds.l2_max)) {
    case BallFit::kInside:
    case BallFit::kRounding:
      return absl::OkStatus();
    case BallFit::kOutside:
      ++clipped;
      if (!bounds.reject) return absl::OkStatus();
      return InvalidArgument("arms.inline_arms.features: arm ", arm,
                             " has an l2 norm above feature_l2_max = ", bounds.l2_max);
    case BallFit::kNotFinite:
      break;
  }
  if (!bounds.zero_when_not_finite) {
    return InvalidArgument("arms.inline_arms.features: arm ", arm,
                           " has a NaN or infinite feature");
  }
  std::fill(x.begin(), x.end(), 0.0);
  return absl::OkStatus();
}

// Key parts of an arm that is known by its id alone.
void LoadKeys(std::uint32_t id, const Catalogue& catalogue, std::span<EffectKey> keys) {
  if (id == kNoArmId) return;
  keys[0] = ArmKey(id);
  if (keys.size() == 1) return;
  if (const auto arm = catalogue.Find(id)) std::ranges::copy(arm->keys, keys.begin());
}

// Keys of `n` inline arms.
absl::Status LoadInlineKeys(const v1::InlineArms& arms, std::size_t n, const Catalogue& catalogue,
                            ArmBlock& block) {
  const auto ids = static_cast<std::size_t>(arms.ids_size());
  const auto parts = static_cast<std::size_t>(catalogue.parts());
  if (ids != 0 && ids != n) {
    return InvalidArgument("arms.inline_arms.ids: none, or one per arm: ", n, ", got ", ids);
  }
  block.keys.assign(n * parts, kAbsent);
  if (parts == 0) return absl::OkStatus();
  for (std::size_t arm = 0; arm < ids; ++arm) {
    LoadKeys(arms.ids(static_cast<int>(arm)), catalogue,
             std::span(block.keys).subspan(arm * parts, parts));
  }
  return absl::OkStatus();
}

absl::Status LoadInline(const v1::InlineArms& arms, const FeatureBounds& bounds, int arms_max,
                        const Catalogue& catalogue, ArmBlock& block) {
  const std::span<const double> features(arms.features().data(),
                                         static_cast<std::size_t>(arms.features_size()));
  const std::size_t d = static_cast<std::size_t>(bounds.dimension);
  if (features.empty())
    return InvalidArgument("arms.inline_arms.features: at least one arm, got none");
  if (features.size() % d != 0) {
    return InvalidArgument(
        "arms.inline_arms.features: size must be a multiple of the model's dimension ", d, ", got ",
        features.size());
  }
  const std::size_t n = features.size() / d;
  if (n > static_cast<std::size_t>(arms_max)) return TooMany(n, arms_max);
  BANDANA_RETURN_IF_ERROR(LoadInlineKeys(arms, n, catalogue, block));
  for (std::size_t arm = 0; arm < n; ++arm) {
    const double* x = features.data() + arm * d;
    // The usual arm is not copied.
    if (!InBall({x, d}, bounds.l2_max)) {
      block.scaled.resize(features.size());  // the same size for each: arms lie in it already
      double* const out = block.scaled.data() + arm * d;
      std::copy_n(x, d, out);
      BANDANA_RETURN_IF_ERROR(ClipArm(bounds, arm, {out, d}, block.clipped));
      x = out;
    }
    block.arms.push_back(x);
  }
  return absl::OkStatus();
}

// The rows lie anywhere in memory larger than the caches: asking for all of them before scoring the
// first lets the misses overlap.
void Prefetch(const CatalogueEntry& arm) {
  const double* const row = arm.features.data();
  for (std::size_t i = 0; i < arm.features.size(); i += kDoublesPerCacheLine) {
    __builtin_prefetch(row + i);
  }
  __builtin_prefetch(row + arm.features.size() - 1);
}

// Adds the arm where it is on offer. `position`: of the request. Positions are kept once one is
// not.
void AddOnOffer(const CatalogueEntry& arm, int position, const FilterNumbers& offer,
                const Catalogue& catalogue, ArmBlock& block) {
  if (!offer.everything && !catalogue.IsOnOffer(offer, arm)) {
    for (int i = 0; !block.left_out && i < position; ++i) block.positions.push_back(i);
    block.left_out = true;
    return;
  }
  if (block.left_out) block.positions.push_back(position);
  Prefetch(arm);
  AddArm(arm, block);
}

absl::Status LoadNames(const v1::CatalogueArms& arms, int arms_max, const FilterNumbers& offer,
                       const Catalogue& catalogue, ArmBlock& block) {
  if (arms.names_size() > arms_max) {
    return TooMany(static_cast<std::size_t>(arms.names_size()), arms_max);
  }
  for (int i = 0; i < arms.names_size(); ++i) {
    const std::optional<CatalogueEntry> arm = catalogue.FindName(arms.names(i));
    if (!arm) {
      return NotFound("arms.catalogue_arms.names[", i, "]: the model's catalogue has no arm ",
                      ShowText(arms.names(i)));
    }
    AddOnOffer(*arm, i, offer, catalogue, block);
  }
  return absl::OkStatus();
}

absl::Status LoadIds(const v1::CatalogueArms& arms, int arms_max, const FilterNumbers& offer,
                     const Catalogue& catalogue, ArmBlock& block) {
  if (arms.ids().empty() == arms.names().empty()) {
    return InvalidArgument("arms.catalogue_arms: ids or names of at least one arm, got ",
                           arms.ids().empty() ? "neither" : "both");
  }
  if (!arms.names().empty()) return LoadNames(arms, arms_max, offer, catalogue, block);
  if (arms.ids_size() > arms_max)
    return TooMany(static_cast<std::size_t>(arms.ids_size()), arms_max);
  for (int i = 0; i < arms.ids_size(); ++i) {
    const std::optional<CatalogueEntry> arm = catalogue.Find(arms.ids(i));
    if (!arm) {
      return NotFound("arms.catalogue_arms.ids: the model's catalogue has no arm ", arms.ids(i));
    }
    AddOnOffer(*arm, i, offer, catalogue, block);
  }
  return absl::OkStatus();
}

bool MatchesAny(const ArmFilter& filter, const Catalogue& catalogue) {
  bool any = false;
  catalogue.ForEachMatching(filter, [&](std::size_t, std::span<const std::uint8_t>) {
    any = true;
    return false;
  });
  return any;
}

// No arm is left of those that are asked for: which rule it was.
absl::Status NoneOnOffer(std::string_view field, const ArmFilter& asked, const OfferRules& offer,
                         const Catalogue& catalogue) {
  ArmFilter left = asked;
  left.available_at = offer.now;
  if (!MatchesAny(left, catalogue)) {
    return NotFound(ToAbsl(field), ": no arm of those that match is available now");
  }
  left.where = offer.where;
  const std::string_view rule = MatchesAny(left, catalogue) ? "rules.exclude_seen" : "rules.where";
  return NotFound(ToAbsl(rule), ": leaves no arm of those that ", ToAbsl(field), " asks for");
}

absl::Status LoadCatalogueArms(const v1::CatalogueArms& arms, int arms_max, const OfferRules& offer,
                               const Catalogue& catalogue, ArmBlock& block) {
  FilterNumbers numbers{.everything = true};
  // The usual request has no rules, and most catalogues have nothing that could leave an arm out.
  if (catalogue.has_facts() || !offer.where.empty() || !offer.excluded.empty()) {
    ArmFilter filter;
    filter.where = offer.where;
    filter.available_at = offer.now;
    filter.excluded_ids = offer.excluded;
    numbers = catalogue.NumbersOf(filter);
  }
  BANDANA_RETURN_IF_ERROR(LoadIds(arms, arms_max, numbers, catalogue, block));
  if (!block.arms.empty()) return absl::OkStatus();
  return NotFound(
      "rules: leave no arm of those that arms.catalogue_arms asks for: none is available now and "
      "passes rules.where and rules.exclude_seen");
}

absl::Status LoadQuery(const v1::CatalogueQuery& query, int arms_max, const OfferRules& offer,
                       const Catalogue& catalogue, ArmBlock& block) {
  BANDANA_RETURN_IF_ERROR(CheckQuery(query));
  bool fits = true;
  catalogue.ForEachMatching(
      FilterOf(query, offer), [&](std::size_t page, std::span<const std::uint8_t> rows) {
        const std::size_t n = rows.empty() ? catalogue.pages()[page]->size() : rows.size();
        fits = block.ids.size() + n <= static_cast<std::size_t>(arms_max);
        for (std::uint32_t i = 0; i < n && fits; ++i) {
          AddArm(catalogue.At(page, rows.empty() ? i : rows[i]), block);
        }
        return fits;
      });
  if (!fits) {
    return InvalidArgument("arms.catalogue_query: matches more than the ", arms_max,
                           " arms allowed per decision");
  }
  if (!block.ids.empty()) return absl::OkStatus();
  if (const ArmFilter asked = FilterOf(query); MatchesAny(asked, catalogue)) {
    return NoneOnOffer("arms.catalogue_query", asked, offer, catalogue);
  }
  return NotFound("arms.catalogue_query: no arm of the model's catalogue matches");
}

absl::Status CheckQueryCount(std::string_view field, int found, int most) {
  if (found <= most) return absl::OkStatus();
  return InvalidArgument("arms.catalogue_query.", ToAbsl(field), ": at most ", most, ", got ",
                         found);
}

}  // namespace

void AddArm(const CatalogueEntry& arm, ArmBlock& block) {
  block.ids.push_back(arm.id);
  block.arms.push_back(arm.features.data());
  block.keys.insert(block.keys.end(), arm.keys.begin(), arm.keys.end());
}

absl::Status CheckQuery(const v1::CatalogueQuery& query) {
  BANDANA_RETURN_IF_ERROR(CheckQueryCount("tags_any", query.tags_any_size(), kQueryTagsMax));
  BANDANA_RETURN_IF_ERROR(CheckQueryCount("tags_all", query.tags_all_size(), kQueryTagsMax));
  BANDANA_RETURN_IF_ERROR(CheckQueryCount("tags_none", query.tags_none_size(), kQueryTagsMax));
  BANDANA_RETURN_IF_ERROR(
      CheckQueryCount("excluded_ids", query.excluded_ids_size(), kQueryExcludedMax));
  return CheckQueryCount("excluded_names", query.excluded_names_size(), kQueryExcludedMax);
}

ArmFilter FilterOf(const v1::CatalogueQuery& query, const OfferRules& offer) {
  ArmFilter filter{.tags_any = {query.tags_any().begin(), query.tags_any().end()},
                   .tags_all = {query.tags_all().begin(), query.tags_all().end()},
                   .tags_none = {query.tags_none().begin(), query.tags_none().end()},
                   .excluded_ids = {query.excluded_ids().begin(), query.excluded_ids().end()},
                   .excluded_names = {query.excluded_names().begin(), query.excluded_names().end()},
                   .where = offer.where,
                   .available_at = offer.now};
  filter.excluded_ids.insert(filter.excluded_ids.end(), offer.excluded.begin(),
                             offer.excluded.end());
  return filter;
}

void ArmBlock::Clear() {
  arms.clear();
  ids.clear();
  names.clear();
  keys.clear();
  positions.clear();
  left_out = false;
  clipped = 0;
}

absl::Status LoadArms(const v1::ArmSet& arms, const FeatureBounds& bounds, int arms_max,
                      const Catalogue& catalogue, ArmBlock& block, const OfferRules& offer) {
  block.Clear();
  switch (arms.form_case()) {
    case v1::ArmSet::kInlineArms:
      return LoadInline(arms.inline_arms(), bounds, arms_max, catalogue, block);
    case v1::ArmSet::kCatalogueArms:
      return LoadCatalogueArms(arms.catalogue_arms(), arms_max, offer, catalogue, block);
    case v1::ArmSet::kCatalogueQuery:
      return LoadQuery(arms.catalogue_query(), arms_max, offer, catalogue, block);
    case v1::ArmSet::kNamedArms:  // NamedFeatures::Load
    case v1::ArmSet::FORM_NOT_SET:
      break;
  }
  return InvalidArgument(
      "arms: inline_arms, named_arms, catalogue_arms or catalogue_query must be set");
}

}  // namespace bandana::server
