#include "server/service/rules/compiled_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/features/value_log.h"
#include "server/service/policies/choice.h"
#include "server/service/rules/seen_rule.h"

namespace bandana::server {
namespace {

constexpr int kRangesMax = 16;
constexpr int kBoostsMax = 64;
constexpr int kPinsMax = 16;
constexpr int kLimitsMax = 8;
constexpr double kNoBound = std::numeric_limits<double>::infinity();

absl::Status CheckRules(std::string_view field, int found, int most) {
  if (found <= most) return absl::OkStatus();
  return InvalidArgument("rules.", ToAbsl(field), ": at most ", most, ", got ", found);
}

std::string PlaceIn(std::string_view field, int i) {
  return absl::StrCat("rules.", ToAbsl(field), "[", i, "]");
}

absl::Status CheckForm(const v1::SelectRequest& request) {
  if (request.arms().has_catalogue_query() || request.arms().has_catalogue_arms()) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "rules: are for arms of the catalogue: send catalogue_query or catalogue_arms, or leave out "
      "the arms that must not be chosen");
}

absl::Status CompileRange(const v1::FieldRange& given, const std::string& place,
                          const Catalogue& catalogue, FieldRange& range) {
  if (!catalogue.HasField(given.field())) {
    return InvalidArgument(place, ".field: no arm of the model's catalogue has a field ",
                           ShowText(given.field()));
  }
  if (!given.has_min() && !given.has_max() && !given.has_above() && !given.has_below()) {
    return InvalidArgument(place, ": must have min, max, above or below");
  }
  for (const double bound : {given.min(), given.max(), given.above(), given.below()}) {
    if (std::isnan(bound)) return InvalidArgument(place, ": must have no bound that is NaN");
  }
  range.field = given.field();
  if (given.has_min()) range.least = given.min();
  if (given.has_max()) range.most = given.max();
  if (given.has_above()) {
    range.least = std::max(range.least, std::nextafter(given.above(), kNoBound));
  }
  if (given.has_below()) {
    range.most = std::min(range.most, std::nextafter(given.below(), -kNoBound));
  }
  return absl::OkStatus();
}

// The arm that a boost or a pin names.
template <typename Message>
absl::StatusOr<std::uint32_t> ArmNumber(const Message& of, const std::string& place,
                                        const Catalogue& catalogue) {
  const std::optional<CatalogueEntry> arm =
      of.has_id() ? catalogue.Find(of.id()) : catalogue.FindName(of.name());
  if (arm) return arm->id;
  return NotFound(place, of.has_id() ? ".id" : ".name", ": the model's catalogue has no arm ",
                  of.has_id() ? absl::StrCat(of.id()) : ShowText(of.name()));
}

absl::StatusOr<std::size_t> GroupNumber(const std::string& name, const std::string& place,
                                        const Catalogue& catalogue) {
  const std::optional<std::size_t> group = catalogue.FindGroup(name);
  if (group) return *group;
  return InvalidArgument(place, ": is none of the model's arm_groups: ", ShowText(name));
}

absl::Status CompileBoost(const v1::Boost& given, const std::string& place,
                          const Catalogue& catalogue, CompiledBoost& boost) {
  if (!(std::abs(given.add()) <= kScaleMax)) {
    return InvalidArgument(place, ".add: must be in [-", kScaleMax, ", ", kScaleMax, "], got ",
                           given.add());
  }
  boost.add = given.add();
  switch (given.of_case()) {
    case v1::Boost::kTag:
      boost.of = CompiledBoost::Of::kTag;
      boost.number = catalogue.FindTag(given.tag());
      return absl::OkStatus();
    case v1::Boost::kGroup: {
      boost.of = CompiledBoost::Of::kGroup;
      BANDANA_ASSIGN_OR_RETURN(boost.group,
                               GroupNumber(given.group().name(), place + ".group.name", catalogue));
      boost.number = catalogue.group_values(boost.group).Find(given.group().value());
      return absl::OkStatus();
    }
    case v1::Boost::kId:
    case v1::Boost::kName: {
      BANDANA_ASSIGN_OR_RETURN(boost.number, ArmNumber(given, place, catalogue));
      return absl::OkStatus();
    }
    case v1::Boost::OF_NOT_SET:
      break;
  }
  return InvalidArgument(place, ": must name a tag, an id, a name or a group");
}

absl::Status CompilePins(const v1::SelectRequest& request, const Catalogue& catalogue,
                         std::vector<CompiledPin>& pins) {
  const int ranks = RanksOf(request);
  for (int i = 0; i < request.rules().pins_size(); ++i) {
    const v1::Pin& given = request.rules().pins(i);
    const std::string place = PlaceIn("pins", i);
    if (given.of_case() == v1::Pin::OF_NOT_SET) {
      return InvalidArgument(place, ": must name an id or a name");
    }
    if (given.rank() >= static_cast<std::uint32_t>(ranks)) {
      return InvalidArgument(place, ".rank: must be below the number of ranks, ", ranks, ", got ",
                             given.rank());
    }
    CompiledPin pin{.arm = 0, .rank = static_cast<int>(given.rank())};
    BANDANA_ASSIGN_OR_RETURN(pin.arm, ArmNumber(given, place, catalogue));
    for (const CompiledPin& before : pins) {
      if (before.rank == pin.rank) return InvalidArgument(place, ".rank: is there twice");
      if (before.arm == pin.arm) return InvalidArgument(place, ": its arm is there twice");
    }
    pins.push_back(pin);
  }
  return absl::OkStatus();
}

absl::Status CompileLimit(const v1::GroupLimit& given, const std::string& place,
                          const Catalogue& catalogue, CompiledLimit& limit) {
  if (given.count() < 1 || given.count() > 100) {
    return InvalidArgument(place, ".count: must be in [1, 100], got ", given.count());
  }
  limit.count = static_cast<int>(given.count());
  if (given.has_tag()) {
    limit.tag = true;
    limit.number = catalogue.FindTag(given.tag());
    return absl::OkStatus();
  }
  if (!given.has_group()) return InvalidArgument(place, ": must name a group or a tag");
  BANDANA_ASSIGN_OR_RETURN(limit.group, GroupNumber(given.group(), place + ".group", catalogue));
  return absl::OkStatus();
}

bool HasTag(const CatalogueEntry& arm, std::uint32_t tag) {
  const std::span<const std::uint32_t> tags = arm.page->tags(arm.row);
  return std::ranges::find(tags, tag) != tags.end();
}

}  // namespace

void CompiledRules::Clear() {
  offer.where.clear();
  offer.excluded.clear();
  boosts.clear();
  pins.clear();
  limits.clear();
}

absl::Status CompileRules(const Selecting& select, const Catalogue& catalogue,
                          CompiledRules& compiled) {
  const v1::SelectRequest& request = select.request;
  compiled.Clear();
  compiled.offer.now = select.now;
  if (!request.has_rules()) return absl::OkStatus();
  const v1::SelectionRules& rules = request.rules();
  BANDANA_RETURN_IF_ERROR(CheckForm(request));
  BANDANA_RETURN_IF_ERROR(CheckRules("where", rules.where_size(), kRangesMax));
  BANDANA_RETURN_IF_ERROR(CheckRules("boosts", rules.boosts_size(), kBoostsMax));
  BANDANA_RETURN_IF_ERROR(CheckRules("pins", rules.pins_size(), kPinsMax));
  BANDANA_RETURN_IF_ERROR(CheckRules("at_most", rules.at_most_size(), kLimitsMax));
  for (int i = 0; i < rules.where_size(); ++i) {
    BANDANA_RETURN_IF_ERROR(CompileRange(rules.where(i), PlaceIn("where", i), catalogue,
                                         compiled.offer.where.emplace_back()));
  }
  for (int i = 0; i < rules.boosts_size(); ++i) {
    BANDANA_RETURN_IF_ERROR(CompileBoost(rules.boosts(i), PlaceIn("boosts", i), catalogue,
                                         compiled.boosts.emplace_back()));
  }
  BANDANA_RETURN_IF_ERROR(CompilePins(request, catalogue, compiled.pins));
  if (rules.has_exclude_seen()) {
    BANDANA_RETURN_IF_ERROR(ExcludeSeen(select, rules.exclude_seen(), compiled.offer.excluded));
  }
  for (int i = 0; i < rules.at_most_size(); ++i) {
    BANDANA_RETURN_IF_ERROR(CompileLimit(rules.at_most(i), PlaceIn("at_most", i), catalogue,
                                         compiled.limits.emplace_back()));
  }
  return absl::OkStatus();
}

double BoostOf(std::span<const CompiledBoost> boosts, const CatalogueEntry& arm) {
  double sum = 0;
  for (const CompiledBoost& boost : boosts) {
    bool meant = false;
    switch (boost.of) {
      case CompiledBoost::Of::kArm:
        meant = boost.number == arm.id;
        break;
      case CompiledBoost::Of::kTag:
        meant = HasTag(arm, boost.number);
        break;
      case CompiledBoost::Of::kGroup:
        meant = boost.number != ArmNames::kNone &&
                arm.page->groups(arm.row)[boost.group] == boost.number;
        break;
    }
    if (meant) sum += boost.add;
  }
  return sum;
}

float AddBoosts(std::span<const CompiledBoost> boosts, const ArmPage& page, std::span<float> sums) {
  double most = 0;
  for (const CompiledBoost& boost : boosts) {
    const auto add = static_cast<float>(boost.add);
    most += std::abs(boost.add);
    switch (boost.of) {
      case CompiledBoost::Of::kArm: {
        const std::uint32_t row = page.Find(boost.number);
        if (row < page.size()) sums[row] += add;
        break;
      }
      case CompiledBoost::Of::kTag: {
        if ((page.tag_bits() & ArmPage::TagBit(boost.number)) == 0) break;
        const auto tagged = page.Tagged({&boost.number, 1});
        for (std::uint32_t row = 0; row < page.size(); ++row) {
          if (tagged.test(row)) sums[row] += add;
        }
        break;
      }
      case CompiledBoost::Of::kGroup:
        for (std::uint32_t row = 0; boost.number != ArmNames::kNone && row < page.size(); ++row) {
          if (page.groups(row)[boost.group] == boost.number) sums[row] += add;
        }
        break;
    }
  }
  // Each number and each sum is rounded by half a unit of its last place.
  constexpr double kFloatError = 0x1p-22;
  return static_cast<float>(most * kFloatError * static_cast<double>(boosts.size() + 2));
}

void ReadBoosts(const CompiledRules& rules, const Catalogue& catalogue, const ArmBlock& block,
                std::vector<double>& boosts) {
  boosts.clear();
  if (rules.boosts.empty()) return;
  for (const std::uint32_t id : block.ids) {
    boosts.push_back(BoostOf(rules.boosts, *catalogue.Find(id)));
  }
}

void FindListRules(const CompiledRules& rules, const Catalogue& catalogue, const ArmBlock& block,
                   ListRules& list) {
  list.pins.clear();
  list.limits.clear();
  for (const CompiledPin& pin : rules.pins) {
    const auto found = std::ranges::find(block.ids, pin.arm);
    if (found == block.ids.end()) continue;
    list.pins.push_back(
        {.rank = pin.rank, .position = static_cast<int>(found - block.ids.begin())});
  }
  for (const CompiledLimit& limit : rules.limits) {
    ClassLimit& out = list.limits.emplace_back();
    out.count = limit.count;
    absl::flat_hash_map<std::uint32_t, int> classes;  // by number of the group's value
    for (const std::uint32_t id : block.ids) {
      const CatalogueEntry arm = *catalogue.Find(id);
      if (limit.tag) {
        out.classes.push_back(HasTag(arm, limit.number) ? 0 : -1);
        continue;
      }
      const std::uint32_t value = arm.page->groups(arm.row)[limit.group];
      const int next = static_cast<int>(classes.size());
      out.classes.push_back(
          value == ArmNames::kNone ? -1 : classes.try_emplace(value, next).first->second);
    }
  }
}

}  // namespace bandana::server
