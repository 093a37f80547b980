#include "tools/base/settings.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace bandana {
namespace {

bool IsKey(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

absl::StatusOr<Settings> Settings::Parse(std::span<const std::string> assignments) {
  Settings settings;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || !IsKey(std::string_view(assignment).substr(0, equals))) {
      return InvalidArgument("a setting must read key=value, got `", assignment, "`");
    }
    BANDANA_RETURN_IF_ERROR(
        settings.Add(assignment.substr(0, equals), assignment.substr(equals + 1)));
  }
  return settings;
}

absl::Status Settings::Add(std::string_view key, std::string_view value) {
  if (!values_.emplace(key, value).second)
    return InvalidArgument("setting `", ToAbsl(key), "` is given twice");
  return absl::OkStatus();
}

const std::string* Settings::Find(std::string_view key) {
  known_.insert(std::string(key));
  const auto found = values_.find(std::string(key));
  return found == values_.end() ? nullptr : &found->second;
}

absl::StatusOr<int> Settings::TakeInt(std::string_view key, int otherwise, int min, int max) {
  const std::string* text = Find(key);
  if (text == nullptr) return otherwise;
  int value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value < min || value > max) {
    return InvalidArgument("setting `", ToAbsl(key), "` must be an integer in [", min, ", ", max,
                           "], got `", *text, "`");
  }
  return value;
}

absl::StatusOr<double> Settings::TakeDouble(std::string_view key, double otherwise, double min,
                                            double max) {
  const std::string* text = Find(key);
  if (text == nullptr) return otherwise;
  double value = 0;
  if (!absl::SimpleAtod(*text, &value) || !(value >= min && value <= max)) {
    return InvalidArgument("setting `", ToAbsl(key), "` must be a number in [", min, ", ", max,
                           "], got `", *text, "`");
  }
  return value;
}

absl::StatusOr<std::string> Settings::TakeText(std::string_view key, std::string_view otherwise) {
  const std::string* text = Find(key);
  if (text == nullptr) return std::string(otherwise);
  if (text->empty()) return InvalidArgument("setting `", ToAbsl(key), "` must not be empty");
  return *text;
}

absl::StatusOr<std::string> Settings::TakeChoice(std::string_view key, std::string_view otherwise,
                                                 std::span<const std::string_view> choices) {
  const std::string* text = Find(key);
  if (text == nullptr) return std::string(otherwise);
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) return *text;
  return InvalidArgument(
      "setting `", ToAbsl(key), "` must be one of ",
      absl::StrJoin(choices, ", ", [](std::string* out, std::string_view c) { out->append(c); }),
      ", got `", *text, "`");
}

absl::Status Settings::Finish() const {
  for (const auto& [key, value] : values_) {
    if (!known_.contains(key)) {
      return InvalidArgument("unknown setting `", key,
                             "`; known here: ", absl::StrJoin(known_, ", "));
    }
  }
  return absl::OkStatus();
}

}  // namespace bandana
