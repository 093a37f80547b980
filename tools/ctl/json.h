// Messages as JSON for programs that read results: 64-bit numbers are numbers, every field is
// there.
#pragma once

#include <string>
#include <string_view>

#include "google/protobuf/message.h"

namespace bandana {

// Field names as in the .proto. Scalars and lists are present even when they hold the default;
// messages and members of a oneof only when they are set. Maps are objects; bytes are lower-case
// hexadecimal; enums are names; a duration `x` becomes the number `x_seconds`; numbers that are not
// finite are null.
std::string ToJson(const google::protobuf::Message& message);

// The shortest text that is read as this very number; `null` where it is not finite.
std::string JsonNumber(double value);
// A string in quotes.
std::string JsonText(std::string_view text);

}  // namespace bandana
