// Requests and answers of calls as JSON (protobuf's JSON mapping).
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana::server {

// Objects and arrays inside each other, at most.
inline constexpr int kJsonDepthMax = 32;

// Fills an empty message. No text stands for an object without fields. Names may be written as in
// JSON (topK) and as in the protos (top_k). Errors: INVALID_ARGUMENT no JSON, or not UTF-8, or
// nested too deep (CheckJson); an unknown field; a value that does not fit its field. They name the
// place as the protos do, `arms.named_arms.arms[2].features`, and never quote a value.
absl::Status FromJson(std::string_view text, google::protobuf::Message& message);

// Fields without a value are left out; names are as in JSON; 64-bit integers are strings.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

// A ReportRequest's text in which each reward that is no number is left out: it counts as the
// default then. NaN and Infinity may be written without quotes, as some writers of JSON do. What is
// no JSON stays as it is.
std::string WithoutOddRewards(std::string_view text);

}  // namespace bandana::server
