#include "common/json/json_text.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "nlohmann/json.hpp"

namespace bandana {
namespace {

using Json = nlohmann::json;

// Looks at the events of the parser and keeps nothing but the open objects.
class Checker {
 public:
  explicit Checker(const JsonLimits& limits) : limits_(limits) {}
  absl::Status status() const { return status_; }

  // NOLINTBEGIN(readability-identifier-naming): the parser's names
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(Json::number_integer_t) { return true; }
  bool number_unsigned(Json::number_unsigned_t) { return true; }
  bool number_float(Json::number_float_t, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(Json::binary_t&) { return true; }
  bool start_object(std::size_t) {
    if (limits_.unique_keys) keys_.emplace_back();
    return Enter();
  }
  bool end_object() {
    if (limits_.unique_keys) keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) { return Enter(); }
  bool end_array() {
    --depth_;
    return true;
  }
  bool key(std::string& name) {
    if (!limits_.unique_keys || keys_.back().insert(name).second) return true;
    status_ = InvalidArgument("not JSON: an object has a key twice");
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const Json::exception& why) {
    constexpr int kOutOfRange = 406;
    status_ = why.id == kOutOfRange
                  ? InvalidArgument("not JSON: a number out of range at byte ", position)
                  : InvalidArgument("not JSON: a mistake at byte ", position);
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool Enter() {
    if (++depth_ <= limits_.depth_max) return true;
    status_ = InvalidArgument("not JSON: more than ", limits_.depth_max,
                              " objects and arrays inside each other");
    return false;
  }

  const JsonLimits limits_;
  int depth_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the open objects
  absl::Status status_;
};

}  // namespace

absl::Status CheckJson(std::string_view text, const JsonLimits& limits) {
  BANDANA_ASSIGN_OR_RETURN(text, WithoutMark(text));
  Checker checker(limits);
  if (Json::sax_parse(text.begin(), text.end(), &checker)) return absl::OkStatus();
  return checker.status();
}

absl::StatusOr<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  BANDANA_ASSIGN_OR_RETURN(text, WithoutMark(text));
  BANDANA_RETURN_IF_ERROR(CheckJson(text, limits));
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

std::string TextMember(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string JsonText(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace bandana
