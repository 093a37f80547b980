// The JSON values of a logged decision, for the formats that hold them: lines of JSON, cells of a
// table.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/decisions/logged_decision.h"

namespace bandana::json_parts {

// The shortest decimal that reads back as the same number. Doubles must be finite.
template <typename T>
void AppendNumber(T value, std::string& text) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
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

// In quotes. Bytes that are no UTF-8 are replaced.
void AppendText(std::string_view value, std::string& text);
void AppendNumbers(const std::vector<double>& values, std::string& text);
// RFC 3339, UTC, without zeros at the end of the fraction, without quotes.
void AppendTime(absl::Time time, std::string& text);

// Each appends the value of the member of its name; false, and nothing, where the line has none.
bool AppendArms(const LoggedSlot& slot, std::string& text);
bool AppendX(const LoggedSlot& slot, std::string& text);
bool AppendP(const LoggedSlot& slot, std::string& text);
bool AppendQ(const LoggedSlot& slot, std::string& text);
bool AppendReward(const LoggedSlot& slot, std::string& text);
bool AppendReleased(const LoggedSlot& slot, std::string& text);
bool AppendRange(const LoggedDecision& decision, std::string& text);
bool AppendBaseline(const LoggedSlot& slot, std::string& text);

}  // namespace bandana::json_parts
