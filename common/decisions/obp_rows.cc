#include "common/decisions/obp_rows.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/decisions/json_parts.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"

namespace bandana {
namespace {

constexpr std::string_view kColumns =
    ",timestamp,item_id,position,click,propensity_score,decision,slot,list,instance,epoch,version,"
    "offered,arms,x,p,q,chosen,reward,range,released,baseline,context,user";

void AppendCell(std::string_view cell, std::string& text) {
  text += ',';
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    text += cell;
    return;
  }
  text += '"';
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

template <typename T>
void AppendNumberCell(T value, std::string& text) {
  text += ',';
  json_parts::AppendNumber(value, text);
}

// The chosen arm as a cell: id, name or position.
void AppendItem(const LoggedSlot& slot, std::string& text) {
  if (!slot.names.empty()) {
    AppendCell(slot.names[slot.chosen], text);
  } else {
    AppendNumberCell(slot.ids.empty() ? slot.chosen : slot.ids[slot.chosen], text);
  }
}

}  // namespace

void ObpRows::AppendHeader(const LoggedDecision* first, std::string& text) {
  begun_ = true;
  text += kColumns;
  if (first != nullptr && !first->context.empty()) {
    if (const auto context = ParseJson(first->context); context.ok() && context->is_object()) {
      for (const auto& [name, value] : context->items()) {
        if (value.is_primitive() && !value.is_null()) features_.push_back(name);
      }
    }
  }
  for (const std::string& name : features_) AppendCell("user_feature_" + name, text);
  text += '\n';
}

void ObpRows::AppendFeatures(const LoggedDecision& decision, std::string& text) {
  if (features_.empty()) return;
  nlohmann::json context;
  if (auto parsed = ParseJson(decision.context); parsed.ok()) context = *std::move(parsed);
  for (const std::string& name : features_) {
    const auto found = context.find(name);
    if (found == context.end() || !found->is_primitive() || found->is_null()) {
      text += ',';
    } else {
      AppendCell(found->is_string() ? found->get<std::string>() : JsonText(*found), text);
    }
  }
}

void ObpRows::Append(const LoggedDecision& decision, std::string& text) {
  if (!begun_) AppendHeader(&decision, text);
  const auto cell = [&](auto append, const auto& value) {
    cell_.clear();
    append(value, cell_);
    AppendCell(cell_, text);
  };
  for (std::size_t at = 0; at < decision.slots.size(); ++at) {
    const LoggedSlot& slot = decision.slots[at];
    const std::size_t rank = decision.slots.size() == 1 ? decision.named_rank : at;
    json_parts::AppendNumber(rows_++, text);
    text += ',';
    json_parts::AppendTime(decision.time, text);
    AppendItem(slot, text);
    AppendNumberCell(rank + 1, text);
    text += ',';
    if (slot.state == RewardState::kKnown) json_parts::AppendNumber(slot.reward, text);
    AppendNumberCell(slot.chosen_p, text);
    AppendCell(decision.id, text);
    AppendNumberCell(rank, text);
    AppendNumberCell(decision.slots.size(), text);
    AppendCell(decision.instance, text);
    AppendNumberCell(decision.epoch, text);
    AppendNumberCell(decision.version, text);
    AppendNumberCell(slot.offered, text);
    cell(json_parts::AppendArms, slot);
    cell(json_parts::AppendX, slot);
    cell(json_parts::AppendP, slot);
    cell(json_parts::AppendQ, slot);
    AppendNumberCell(slot.chosen, text);
    cell(json_parts::AppendReward, slot);
    cell(json_parts::AppendRange, decision);
    cell(json_parts::AppendReleased, slot);
    cell(json_parts::AppendBaseline, slot);
    AppendCell(decision.context, text);
    AppendCell(decision.user, text);
    AppendFeatures(decision, text);
    text += '\n';
  }
}

void ObpRows::End(std::string& text) {
  if (!begun_) AppendHeader(nullptr, text);
}

}  // namespace bandana
