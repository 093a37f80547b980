#include "common/decisions/jsonl_writer.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"

namespace bandana {
namespace {

template <typename T>
void AppendNumber(T value, std::string& text) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void AppendText(std::string_view value, std::string& text) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
  });
  if (plain) {
    absl::StrAppend(&text, "\"", ToAbsl(value), "\"");
  } else {
    text += JsonText(nlohmann::json(value));
  }
}

template <typename Values, typename Append>
void AppendArray(const Values& values, std::string& text, Append append) {
  text += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    append(values[i], text);
  }
  text += ']';
}

void AppendNumbers(const std::vector<double>& values, std::string& text) {
  AppendArray(values, text, AppendNumber<double>);
}

void AppendKey(std::string_view key, std::string& text) {
  absl::StrAppend(&text, ",\"", ToAbsl(key), "\":");
}

// 2026-11-27T03:04:05.123456789Z, without zeros at the end of the fraction.
void AppendTime(absl::Time time, std::string& text) {
  absl::StrAppend(&text, "\"", absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone()),
                  "\"");
}

void AppendFeatures(const LoggedSlot& slot, std::string& text) {
  const std::size_t n = slot.arms();
  const std::size_t d = slot.x.size() / n;
  text += '[';
  for (std::size_t arm = 0; arm < n; ++arm) {
    if (arm > 0) text += ',';
    AppendNumbers({slot.x.begin() + static_cast<std::ptrdiff_t>(arm * d),
                   slot.x.begin() + static_cast<std::ptrdiff_t>((arm + 1) * d)},
                  text);
  }
  text += ']';
}

void AppendReward(const LoggedSlot& slot, std::string& text) {
  AppendKey("reward", text);
  switch (slot.state) {
    case RewardState::kPending:
      text += "null";
      break;
    case RewardState::kUnreported:
      text += "\"unreported\"";
      break;
    case RewardState::kKnown:
      AppendNumber(slot.reward, text);
      break;
  }
  if (!slot.released) return;
  AppendKey("released", text);
  text += "{\"epsilon\":";
  AppendNumber(slot.released->epsilon, text);
  text += ",\"low\":";
  AppendNumber(slot.released->low, text);
  text += ",\"high\":";
  AppendNumber(slot.released->high, text);
  if (slot.released->clipped) text += ",\"clipped\":true";
  text += '}';
}

void AppendArms(const LoggedSlot& slot, std::string& text) {
  AppendKey("offered", text);
  AppendNumber(slot.offered, text);
  if (!slot.ids.empty()) {
    AppendKey("arms", text);
    AppendArray(slot.ids, text, AppendNumber<std::uint32_t>);
  } else if (!slot.names.empty()) {
    AppendKey("arms", text);
    AppendArray(slot.names, text,
                [](const std::string& name, std::string& out) { AppendText(name, out); });
  }
  if (!slot.x.empty()) {
    AppendKey("x", text);
    AppendFeatures(slot, text);
  }
  AppendKey("p", text);
  if (slot.p.empty()) {
    AppendNumber(slot.chosen_p, text);
  } else {
    AppendNumbers(slot.p, text);
  }
  if (!slot.q.empty()) {
    AppendKey("q", text);
    AppendNumbers(slot.q, text);
  }
  AppendKey("chosen", text);
  AppendNumber(slot.chosen, text);
}

}  // namespace

void AppendJsonLines(const LoggedDecision& decision, std::string& text) {
  for (std::size_t at = 0; at < decision.slots.size(); ++at) {
    const LoggedSlot& slot = decision.slots[at];
    text += "{\"v\":1,\"decision\":";
    AppendText(decision.id, text);
    AppendKey("slot", text);
    AppendNumber(decision.slots.size() == 1 ? decision.named_rank : at, text);
    AppendKey("time", text);
    AppendTime(decision.time, text);
    if (!decision.instance.empty()) {
      AppendKey("instance", text);
      AppendText(decision.instance, text);
    }
    AppendKey("epoch", text);
    AppendNumber(decision.epoch, text);
    AppendKey("version", text);
    AppendNumber(decision.version, text);
    AppendArms(slot, text);
    AppendReward(slot, text);
    if (decision.range.min != 0 || decision.range.max != 1) {
      AppendKey("range", text);
      AppendNumbers({decision.range.min, decision.range.max}, text);
    }
    if (slot.baseline) {
      AppendKey("baseline", text);
      if (slot.own_law.empty()) {
        text += "true";
      } else {
        AppendNumbers(slot.own_law, text);
      }
    }
    if (!decision.context.empty()) {
      AppendKey("context", text);
      text += decision.context;
    }
    if (!decision.user.empty()) {
      AppendKey("user", text);
      AppendText(decision.user, text);
    }
    if (decision.slots.size() > 1) {
      AppendKey("list", text);
      AppendNumber(decision.slots.size(), text);
    }
    text += "}\n";
  }
}

}  // namespace bandana
