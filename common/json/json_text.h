// JSON (RFC 8259) from strangers: read strictly, within bounds.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace bandana {

struct JsonLimits {
  int depth_max = 32;        // of objects and arrays inside each other
  bool unique_keys = false;  // refuse an object that has a key twice; else the last one counts
};

// Whether the text is one JSON value: UTF-8 (bytes that are none are refused; a byte order mark
// before it is skipped), no number beyond double, nothing after it. Errors: INVALID_ARGUMENT with
// the place, in bytes from the start. No message quotes the text.
absl::Status CheckJson(std::string_view text, const JsonLimits& limits = {});

// The value. Errors: those of CheckJson.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// The object's member where it is a string; else empty.
std::string TextMember(const nlohmann::json& object, const char* name);

// The value as text. Bytes that are not UTF-8 are replaced.
std::string JsonText(const nlohmann::json& value);

}  // namespace bandana
