// Requests of calls as JSON.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace bandana::server {

// Objects and arrays inside each other, at most.
inline constexpr int kJsonDepthMax = 32;
// Where a value that is too deep counts as missing.
inline constexpr int kOddJsonDepthMax = 1000;

// Fills an empty message by ReadJson. No text stands for an object without fields. Errors: those of
// CheckJson with kJsonDepthMax; else those of ReadJson.
absl::Status FromJson(std::string_view text, google::protobuf::Message& message);

// For rewards whose value must not decide whether they count: the text with `null` in place of NaN,
// Infinity and -Infinity, which some writers of JSON write without quotes, and with the greatest
// double in place of numbers beyond it. Strings stay as they are.
std::string WithPlainNumbers(std::string_view text);

// A ReportRequest's text WithPlainNumbers in which each reward that is no number is left out: it
// counts as the default then. A text that is no JSON stays as it is.
std::string WithoutOddRewards(std::string_view text);

// A SelectRequest's text, or a BatchSelectRequest's, WithPlainNumbers in which odd features are
// missing: numbers of vectors that are none are NaN, contexts and features of named arms that are
// no objects are left out, and of their values those that no field can have are null. For models
// whose contexts are private: no value decides whether there is a round. A text that is no JSON
// stays as it is.
std::string WithoutOddFeatures(std::string_view text);
// The values of a context, or of an arm, by the same rule.
void DropOddValues(nlohmann::json& values);

}  // namespace bandana::server
