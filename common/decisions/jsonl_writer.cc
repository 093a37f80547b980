#include "common/decisions/jsonl_writer.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/decisions/json_parts.h"

namespace bandana {
namespace {

void AppendKey(std::string_view key, std::string& text) {
  absl::StrAppend(&text, ",\"", ToAbsl(key), "\":");
}

// The member, or nothing where it has no value.
template <typename Append, typename Value>
void AppendMember(std::string_view key, Append append, const Value& value, std::string& text) {
  const std::size_t before = text.size();
  AppendKey(key, text);
  if (!append(value, text)) text.resize(before);
}

void AppendTextMember(std::string_view key, const std::string& value, std::string& text) {
  if (value.empty()) return;
  AppendKey(key, text);
  json_parts::AppendText(value, text);
}

void AppendHead(const LoggedDecision& decision, std::size_t at, std::string& text) {
  text += "{\"v\":1,\"decision\":";
  json_parts::AppendText(decision.id, text);
  AppendKey("slot", text);
  json_parts::AppendNumber(decision.slots.size() == 1 ? decision.named_rank : at, text);
  AppendKey("time", text);
  text += '"';
  json_parts::AppendTime(decision.time, text);
  text += '"';
  AppendTextMember("instance", decision.instance, text);
  AppendKey("epoch", text);
  json_parts::AppendNumber(decision.epoch, text);
  AppendKey("version", text);
  json_parts::AppendNumber(decision.version, text);
}

}  // namespace

void AppendJsonLines(const LoggedDecision& decision, std::string& text) {
  for (std::size_t at = 0; at < decision.slots.size(); ++at) {
    const LoggedSlot& slot = decision.slots[at];
    AppendHead(decision, at, text);
    AppendKey("offered", text);
    json_parts::AppendNumber(slot.offered, text);
    AppendMember("arms", json_parts::AppendArms, slot, text);
    AppendMember("x", json_parts::AppendX, slot, text);
    AppendMember("p", json_parts::AppendP, slot, text);
    AppendMember("q", json_parts::AppendQ, slot, text);
    AppendKey("chosen", text);
    json_parts::AppendNumber(slot.chosen, text);
    AppendMember("reward", json_parts::AppendReward, slot, text);
    AppendMember("released", json_parts::AppendReleased, slot, text);
    AppendMember("range", json_parts::AppendRange, decision, text);
    AppendMember("baseline", json_parts::AppendBaseline, slot, text);
    if (!decision.context.empty()) {
      AppendKey("context", text);
      text += decision.context;
    }
    AppendTextMember("user", decision.user, text);
    if (decision.slots.size() > 1) {
      AppendKey("list", text);
      json_parts::AppendNumber(decision.slots.size(), text);
    }
    text += "}\n";
  }
}

}  // namespace bandana
