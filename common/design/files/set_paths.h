// Which fields of a message are set, as a field mask says it.
#pragma once

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace bandana {

// Paths of the fields of `message` that are set: of a singular message of this API that is not
// empty those inside it, of anything else (values, lists, maps) the field itself.
std::vector<std::string> SetPaths(const google::protobuf::Message& message);

}  // namespace bandana
