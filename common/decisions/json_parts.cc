#include "common/decisions/json_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"

namespace bandana::json_parts {

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

void AppendNumbers(const std::vector<double>& values, std::string& text) {
  AppendArray(values, text, AppendNumber<double>);
}

void AppendTime(absl::Time time, std::string& text) {
  text += absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

bool AppendArms(const LoggedSlot& slot, std::string& text) {
  if (!slot.ids.empty()) {
    AppendArray(slot.ids, text, AppendNumber<std::uint32_t>);
  } else if (!slot.names.empty()) {
    AppendArray(slot.names, text,
                [](const std::string& name, std::string& out) { AppendText(name, out); });
  }
  return !slot.ids.empty() || !slot.names.empty();
}

bool AppendX(const LoggedSlot& slot, std::string& text) {
  if (slot.x.empty()) return false;
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
  return true;
}

bool AppendP(const LoggedSlot& slot, std::string& text) {
  if (slot.p.empty()) {
    AppendNumber(slot.chosen_p, text);
  } else {
    AppendNumbers(slot.p, text);
  }
  return true;
}

bool AppendQ(const LoggedSlot& slot, std::string& text) {
  if (slot.q.empty()) return false;
  AppendNumbers(slot.q, text);
  return true;
}

bool AppendReward(const LoggedSlot& slot, std::string& text) {
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
  return true;
}

bool AppendReleased(const LoggedSlot& slot, std::string& text) {
  if (!slot.released) return false;
  text += "{\"epsilon\":";
  AppendNumber(slot.released->epsilon, text);
  text += ",\"low\":";
  AppendNumber(slot.released->low, text);
  text += ",\"high\":";
  AppendNumber(slot.released->high, text);
  if (slot.released->clipped) text += ",\"clipped\":true";
  text += '}';
  return true;
}

bool AppendRange(const LoggedDecision& decision, std::string& text) {
  if (decision.range.min == 0 && decision.range.max == 1) return false;
  AppendNumbers({decision.range.min, decision.range.max}, text);
  return true;
}

bool AppendBaseline(const LoggedSlot& slot, std::string& text) {
  if (!slot.baseline) return false;
  if (slot.own_law.empty()) {
    text += "true";
  } else {
    AppendNumbers(slot.own_law, text);
  }
  return true;
}

}  // namespace bandana::json_parts
