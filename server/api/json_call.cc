#include "server/api/json_call.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "server/api/json_reader.h"

namespace bandana::server {
namespace {

using Json = nlohmann::json;

// How a number that no double holds is written instead: it is beyond every range all the same.
// Nothing for other numbers.
std::string_view InsteadOf(std::string_view number) {
  double value = 0;
  if (!absl::SimpleAtod(ToAbsl(number), &value) || !std::isinf(value)) return {};
  return value > 0 ? "1.7976931348623157e308" : "-1.7976931348623157e308";
}

Json* Find(Json& object, const char* name, const char* other_name = nullptr) {
  if (!object.is_object()) return nullptr;
  auto found = object.find(name);
  if (found == object.end() && other_name != nullptr) found = object.find(other_name);
  return found == object.end() ? nullptr : &*found;
}

bool IsScalar(const Json& value) { return !value.is_structured(); }

void DropOddFeatures(Json& holder, const char* name) {
  Json* const values = Find(holder, name);
  if (values == nullptr) return;
  if (values->is_object()) return DropOddValues(*values);
  holder.erase(name);
}

bool IsNumber(const Json& value) {
  double unused = 0;
  const auto* const text = value.get_ptr<const std::string*>();
  return value.is_number() || (text != nullptr && absl::SimpleAtod(*text, &unused));
}

void MendDecision(Json& decision) {
  DropOddFeatures(decision, "context");
  Json* const arms = Find(decision, "arms");
  if (arms == nullptr) return;
  if (Json* const own = Find(*arms, "inlineArms", "inline_arms"); own != nullptr) {
    if (Json* const features = Find(*own, "features");
        features != nullptr && features->is_array()) {
      for (Json& number : *features) {
        if (!IsNumber(number)) number = "NaN";
      }
    }
  }
  Json* const named = Find(*arms, "namedArms", "named_arms");
  Json* const list = named == nullptr ? nullptr : Find(*named, "arms");
  if (list == nullptr || !list->is_array()) return;
  for (Json& arm : *list) DropOddFeatures(arm, "features");
}

}  // namespace

absl::Status FromJson(std::string_view text, google::protobuf::Message& message) {
  BANDANA_ASSIGN_OR_RETURN(text, WithoutMark(text));
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return absl::OkStatus();
  const absl::Status read = ReadJson(text, kJsonDepthMax, message);
  if (read.ok()) return read;
  // A text that is no JSON gets no message about its fields, but the place of the mistake.
  BANDANA_RETURN_IF_ERROR(CheckJson(text, {.depth_max = kJsonDepthMax}));
  return read;
}

std::string WithPlainNumbers(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords = {"NaN", "-Infinity", "Infinity"};
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    std::size_t taken = 1;
    std::string_view instead;
    const auto* const word =
        std::ranges::find_if(kWords, [&](std::string_view w) { return rest.starts_with(w); });
    if (in_string) {
      if (rest[0] == '\\' && rest.size() > 1) taken = 2;
      if (rest[0] == '"') in_string = false;
    } else if (rest[0] == '"') {
      in_string = true;
    } else if (word != kWords.end()) {
      taken = word->size();
      instead = "null";
    } else if (rest[0] == '-' || absl::ascii_isdigit(static_cast<unsigned char>(rest[0]))) {
      taken = std::min(rest.find_first_not_of("+-.0123456789eE"), rest.size());
      instead = InsteadOf(rest.substr(0, taken));
    }
    out += instead.empty() ? rest.substr(0, taken) : instead;
    i += taken;
  }
  return out;
}

std::string WithoutOddRewards(std::string_view text) {
  std::string plain = WithPlainNumbers(text);
  absl::StatusOr<Json> json = ParseJson(plain, {.depth_max = kJsonDepthMax});
  if (!json.ok() || !json->is_object()) return plain;
  const auto outcomes = json->find("outcomes");
  if (outcomes == json->end() || !outcomes->is_array()) return plain;
  for (Json& outcome : *outcomes) {
    if (!outcome.is_object()) continue;
    const auto reward = outcome.find("reward");
    if (reward != outcome.end() && !reward->is_number()) outcome.erase(reward);
  }
  return JsonText(*json);
}

std::string WithoutOddFeatures(std::string_view text) {
  std::string plain = WithPlainNumbers(text);
  absl::StatusOr<Json> json = ParseJson(plain, {.depth_max = kOddJsonDepthMax});
  if (!json.ok() || !json->is_object()) return plain;
  MendDecision(*json);
  if (Json* const decisions = Find(*json, "decisions");
      decisions != nullptr && decisions->is_array()) {
    for (Json& decision : *decisions) MendDecision(decision);
  }
  return JsonText(*json);
}

void DropOddValues(Json& values) {
  for (Json& value : values) {
    const bool fits = IsScalar(value) || (value.is_array() && std::ranges::all_of(value, IsScalar));
    if (!fits) value = nullptr;
  }
}

}  // namespace bandana::server
