#include "client/core/selection/rules_message.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/base/wire_writer.h"

namespace bandana::device {
namespace {

absl::Status CheckOne(std::string_view list, std::size_t i, std::string_view names, int count) {
  if (count == 1) return absl::OkStatus();
  return InvalidArgument("rules.", ToAbsl(list), "[", i, "]: must name exactly one of ",
                         ToAbsl(names), ", got ", count);
}

std::string RangeMessage(const FieldRange& range) {
  std::string bytes;
  WireWriter writer(bytes);
  writer.Bytes(1, range.field);
  const std::optional<double> bounds[] = {range.min, range.max, range.above, range.below};
  for (int i = 0; i < 4; ++i) {
    if (bounds[i]) writer.Real(2 + i, *bounds[i]);
  }
  return bytes;
}

std::string BoostMessage(const Boost& boost) {
  std::string bytes;
  WireWriter writer(bytes);
  writer.Bytes(1, boost.tag);
  if (boost.id) writer.Fixed32(2, *boost.id);
  writer.Bytes(3, boost.name);
  if (!boost.group.empty()) {
    std::string group;
    WireWriter in_group(group);
    in_group.Bytes(1, boost.group);
    in_group.Bytes(2, boost.value);
    writer.Message(4, group);
  }
  if (boost.add != 0) writer.Real(5, boost.add);
  return bytes;
}

std::string PinMessage(const Pin& pin) {
  std::string bytes;
  WireWriter writer(bytes);
  if (pin.id) writer.Fixed32(1, *pin.id);
  writer.Bytes(2, pin.name);
  writer.Number(3, static_cast<std::uint64_t>(pin.rank));
  return bytes;
}

std::string LimitMessage(const GroupLimit& limit) {
  std::string bytes;
  WireWriter writer(bytes);
  writer.Bytes(1, limit.group);
  writer.Bytes(2, limit.tag);
  writer.Number(3, static_cast<std::uint64_t>(limit.count));
  return bytes;
}

std::string SeenMessage(const SeenRule& rule) {
  std::string bytes;
  WireWriter writer(bytes);
  writer.Number(1, rule.seen == SeenRule::Seen::kShown ? 1 : 2);
  if (!rule.within) return bytes;
  const std::int64_t seconds = absl::ToInt64Seconds(*rule.within);
  const absl::Duration rest = *rule.within - absl::Seconds(seconds);
  std::string within;
  WireWriter in_within(within);
  in_within.Number(1, static_cast<std::uint64_t>(seconds));
  in_within.Number(2, static_cast<std::uint64_t>(absl::ToInt64Nanoseconds(rest)));
  writer.Message(2, within);
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> RulesMessage(const SelectionRules& rules) {
  std::string bytes;
  WireWriter writer(bytes);
  for (const FieldRange& range : rules.where) writer.Message(1, RangeMessage(range));
  for (std::size_t i = 0; i < rules.boosts.size(); ++i) {
    const Boost& boost = rules.boosts[i];
    BANDANA_RETURN_IF_ERROR(CheckOne("boosts", i, "tag, id, name and group",
                                     int{!boost.tag.empty()} + int{boost.id.has_value()} +
                                         int{!boost.name.empty()} + int{!boost.group.empty()}));
    writer.Message(2, BoostMessage(boost));
  }
  for (std::size_t i = 0; i < rules.pins.size(); ++i) {
    const Pin& pin = rules.pins[i];
    BANDANA_RETURN_IF_ERROR(
        CheckOne("pins", i, "id and name", int{pin.id.has_value()} + int{!pin.name.empty()}));
    if (pin.rank < 0) {
      return InvalidArgument("rules.pins[", i, "].rank: must be at least 0, got ", pin.rank);
    }
    writer.Message(3, PinMessage(pin));
  }
  for (std::size_t i = 0; i < rules.at_most.size(); ++i) {
    const GroupLimit& limit = rules.at_most[i];
    BANDANA_RETURN_IF_ERROR(CheckOne("at_most", i, "group and tag",
                                     int{!limit.group.empty()} + int{!limit.tag.empty()}));
    if (limit.count < 1) {
      return InvalidArgument("rules.at_most[", i, "].count: must be at least 1, got ", limit.count);
    }
    writer.Message(4, LimitMessage(limit));
  }
  if (rules.exclude_seen) writer.Message(5, SeenMessage(*rules.exclude_seen));
  return bytes;
}

}  // namespace bandana::device
