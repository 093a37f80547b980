// A message as JSON.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/statusor.h"

namespace bandana::server {

// By protobuf's JSON mapping: fields without a value are left out, names are as in JSON, 64-bit
// integers are texts, bytes base64, numbers as short as they read back equal. In texts < and > are
// escaped; bytes that are not UTF-8 are replaced. Errors: INTERNAL a Struct holds a number that
// JSON has not, a time is out of range. Threads: safe.
absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message);

}  // namespace bandana::server
