#include "common/decisions/dsjson_writer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/decisions/json_parts.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"

namespace bandana {
namespace {

using json_parts::AppendNumber;
using json_parts::AppendText;

// The arms of all slots of a decision, in the order in which they come up: DSJSON counts actions
// over a list as a whole.
struct Actions {
  struct Arm {
    const LoggedSlot* slot;
    std::size_t position;
  };
  std::vector<Arm> arms;
  std::vector<std::vector<std::size_t>> of_slots;  // the action of each position
};

std::size_t ArmsOf(const LoggedSlot& slot) {
  return slot.arms() > 0 ? slot.arms() : std::min<std::size_t>(slot.offered, kDecisionArmsMax);
}

std::string NameOf(const LoggedSlot& slot, std::size_t position) {
  if (!slot.names.empty()) return slot.names[position];
  return absl::StrCat(slot.ids.empty() ? position : slot.ids[position]);
}

Actions ActionsOf(const LoggedDecision& decision) {
  Actions actions;
  std::map<std::string, std::size_t> known;
  const bool one = decision.slots.size() == 1;
  for (const LoggedSlot& slot : decision.slots) {
    std::vector<std::size_t>& of_slot = actions.of_slots.emplace_back();
    for (std::size_t at = 0; at < ArmsOf(slot); ++at) {
      std::size_t action = actions.arms.size();
      if (!one) action = known.emplace(NameOf(slot, at), action).first->second;
      if (action == actions.arms.size()) actions.arms.push_back({&slot, at});
      of_slot.push_back(action);
    }
  }
  return actions;
}

// Numbers, booleans and texts stay. VW reads no list of texts and no null: a list becomes an object
// of its values.
nlohmann::json Features(const nlohmann::json& value) {
  if (value.is_object()) {
    nlohmann::json features = nlohmann::json::object();
    for (const auto& [name, member] : value.items()) {
      if (!member.is_null()) features[name] = Features(member);
    }
    return features;
  }
  if (!value.is_array()) return value;
  nlohmann::json features = nlohmann::json::object();
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at].is_string()) {
      features[value[at].get<std::string>()] = 1;
    } else if (!value[at].is_null()) {
      features[absl::StrCat(at)] = Features(value[at]);
    }
  }
  return features;
}

void AppendShared(const LoggedDecision& decision, std::string& text) {
  if (decision.context.empty()) return;
  const auto context = ParseJson(decision.context);
  if (!context.ok()) return;
  absl::StrAppend(&text, "\"context\":", JsonText(Features(*context)), ",");
}

void AppendArm(const Actions::Arm& arm, std::string& text) {
  const std::string name = NameOf(*arm.slot, arm.position);
  text += "{\"_tag\":";
  AppendText(name, text);
  text += ",\"i\":{\"constant\":1,\"id\":";
  AppendText(name, text);
  text += '}';
  if (!arm.slot->x.empty()) {
    const std::size_t d = arm.slot->x.size() / arm.slot->arms();
    const auto row = arm.slot->x.begin() + static_cast<std::ptrdiff_t>(arm.position * d);
    text += ",\"x\":";
    json_parts::AppendNumbers({row, row + static_cast<std::ptrdiff_t>(d)}, text);
  }
  text += '}';
}

std::string SlotId(const LoggedDecision& decision, std::size_t at) {
  return decision.slots.size() == 1 ? decision.id : absl::StrCat(decision.id, "-", at);
}

// The shared example, an example per action, and of a list one per slot.
void AppendExamples(const LoggedDecision& decision, const Actions& actions, std::string& text) {
  text += "\"c\":{";
  AppendShared(decision, text);
  text += "\"_multi\":";
  json_parts::AppendArray(actions.arms, text, AppendArm);
  if (decision.slots.size() > 1) {
    text += ",\"_slots\":[";
    for (std::size_t at = 0; at < decision.slots.size(); ++at) {
      text += at > 0 ? ",{\"_id\":" : "{\"_id\":";
      AppendText(SlotId(decision, at), text);
      text += '}';
    }
    text += ']';
  }
  text += '}';
}

// Positions with a propensity, the chosen one first, as VW ranks them.
std::vector<std::size_t> Ranked(const LoggedSlot& slot) {
  if (slot.p.empty()) return {slot.chosen};
  std::vector<std::size_t> ranked(slot.p.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::rotate(ranked.begin(), ranked.begin() + slot.chosen, ranked.begin() + slot.chosen + 1);
  return ranked;
}

// Members `a` and `p`, with `prefix` before each name; actions count from `base`.
void AppendLaw(const LoggedSlot& slot, const std::vector<std::size_t>& actions,
               std::string_view prefix, std::size_t base, std::string& text) {
  const std::vector<std::size_t> ranked = Ranked(slot);
  absl::StrAppend(&text, "\"", ToAbsl(prefix), "a\":");
  json_parts::AppendArray(ranked, text, [&](std::size_t position, std::string& out) {
    AppendNumber(actions[position] + base, out);
  });
  absl::StrAppend(&text, ",\"", ToAbsl(prefix), "p\":");
  json_parts::AppendArray(ranked, text, [&](std::size_t position, std::string& out) {
    AppendNumber(slot.p.empty() ? slot.chosen_p : slot.p[position], out);
  });
}

bool Known(const LoggedSlot& slot) { return slot.state == RewardState::kKnown; }

double CostOf(const LoggedSlot& slot) { return Known(slot) && slot.reward != 0 ? -slot.reward : 0; }

void AppendObservation(const LoggedSlot& slot, const std::string& id, std::string_view member,
                       std::string& text) {
  if (!Known(slot)) return;
  absl::StrAppend(&text, "\"", ToAbsl(member), "\":[{\"v\":");
  AppendNumber(slot.reward, text);
  text += ",\"EventId\":";
  AppendText(id, text);
  text += ",\"ActionTaken\":true}],";
}

void AppendOutcomes(const LoggedDecision& decision, const Actions& actions, std::string& text) {
  text += ",\"_outcomes\":[";
  for (std::size_t at = 0; at < decision.slots.size(); ++at) {
    const LoggedSlot& slot = decision.slots[at];
    text += at > 0 ? ",{\"_label_cost\":" : "{\"_label_cost\":";
    AppendNumber(CostOf(slot), text);
    text += ",\"_id\":";
    AppendText(SlotId(decision, at), text);
    text += ',';
    AppendObservation(slot, SlotId(decision, at), "_o", text);
    AppendLaw(slot, actions.of_slots[at], "_", 0, text);
    text += '}';
  }
  text += ']';
}

// One array per slot, under the name.
template <typename Append>
void AppendPerSlot(std::string_view name, const LoggedDecision& decision, Append append,
                   std::string& text) {
  absl::StrAppend(&text, ",\"", ToAbsl(name), "\":");
  json_parts::AppendArray(decision.slots, text, [&](const LoggedSlot& slot, std::string& out) {
    if (!append(slot, out)) out += "null";
  });
}

void AppendOwn(const LoggedDecision& decision, std::string& text) {
  text += ",\"bandana\":{\"range\":";
  json_parts::AppendNumbers({decision.range.min, decision.range.max}, text);
  const auto any = [&](auto has) {
    return std::any_of(decision.slots.begin(), decision.slots.end(), has);
  };
  AppendPerSlot(
      "offered", decision,
      [](const LoggedSlot& slot, std::string& out) {
        AppendNumber(slot.offered, out);
        return true;
      },
      text);
  if (any([](const LoggedSlot& slot) { return slot.released.has_value(); })) {
    AppendPerSlot("released", decision, json_parts::AppendReleased, text);
  }
  if (any([](const LoggedSlot& slot) { return !slot.q.empty(); })) {
    AppendPerSlot("q", decision, json_parts::AppendQ, text);
  }
  if (any([](const LoggedSlot& slot) { return slot.baseline; })) {
    AppendPerSlot("baseline", decision, json_parts::AppendBaseline, text);
  }
  if (decision.named_rank > 0) {
    text += ",\"rank\":";
    AppendNumber(decision.named_rank, text);
  }
  if (!decision.user.empty()) {
    text += ",\"user\":";
    AppendText(decision.user, text);
  }
  text += '}';
}

}  // namespace

void AppendDsjsonLine(const LoggedDecision& decision, std::string& text) {
  const Actions actions = ActionsOf(decision);
  const bool list = decision.slots.size() > 1;
  text += '{';
  if (!list) {
    const LoggedSlot& slot = decision.slots[0];
    text += "\"_label_cost\":";
    AppendNumber(CostOf(slot), text);
    text += ",\"_label_probability\":";
    AppendNumber(slot.chosen_p, text);
    text += ",\"_label_Action\":";
    AppendNumber(slot.chosen + std::uint64_t{1}, text);
    text += ",\"_labelIndex\":";
    AppendNumber(slot.chosen, text);
    text += ',';
    AppendObservation(slot, decision.id, "o", text);
  }
  if (!std::all_of(decision.slots.begin(), decision.slots.end(), Known)) {
    text += "\"_skipLearn\":true,";
  }
  text += "\"Timestamp\":\"";
  json_parts::AppendTime(decision.time, text);
  text += "\",\"Version\":\"1\",\"EventId\":";
  AppendText(decision.id, text);
  text += ',';
  if (!list) {
    AppendLaw(decision.slots[0], actions.of_slots[0], "", 1, text);
    text += ',';
  }
  AppendExamples(decision, actions, text);
  if (list) AppendOutcomes(decision, actions, text);
  text += ",\"VWState\":{\"m\":";
  AppendText(absl::StrCat(decision.instance, "/", decision.epoch, "/", decision.version), text);
  text += '}';
  AppendOwn(decision, text);
  text += "}\n";
}

}  // namespace bandana
