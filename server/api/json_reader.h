// JSON straight into a message.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "absl/status/status.h"

namespace bandana::server {

// Merges a JSON object into the message, by protobuf's JSON mapping as protobuf 3.21 reads it:
// names in both spellings; null leaves a field as it is, also in a list; one value stands for a
// list of one, and lists in a list are one list; numbers may be texts; a field that stands twice
// has its last value, lists and messages together; but a key of a map or Struct, and a field of a
// oneof, may stand once. A field without a name is unknown. Objects and lists lie `depth_max` deep
// at most. Errors: INVALID_ARGUMENT no JSON (RFC 8259, UTF-8), an unknown field, or a value that
// does not fit. They name the place, as the protos do, and quote no value; the message is then good
// for nothing. Threads: safe.
absl::Status ReadJson(std::string_view text, int depth_max, google::protobuf::Message& message);

}  // namespace bandana::server
