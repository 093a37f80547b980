// Names in the text form of configurations that nobody knows, and what may have been meant.
#pragma once

#include <string>

namespace bandana {

// A message of protobuf's text parser. Where it is about a field that a message of bandana.v1 does
// not have, or about a value that an enumeration of ServerConfig does not have, it ends in the
// nearest one: `has no field named "listne": did you mean listen?`. Other messages stay as they
// are.
std::string WithHint(const std::string& message);

}  // namespace bandana
