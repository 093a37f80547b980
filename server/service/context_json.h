// The context of a decision as its log keeps it.
#pragma once

#include <string>

#include "google/protobuf/struct.pb.h"

namespace bandana::server {

// Appends a JSON object; nothing where it has a number that is not finite. Its members are in the
// order of their names, numbers the shortest that read back the same. 0.4 us where protobuf's own
// writer, which goes through descriptors, takes 5.4 (five values, a shared core, 2026).
void AppendContext(const google::protobuf::Struct& context, std::string& out);

}  // namespace bandana::server
