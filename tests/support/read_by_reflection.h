// Any message, read by WireReader and put together by reflection: to be compared with protobuf's
// own parse of the same bytes.
#pragma once

#include <string_view>

#include "google/protobuf/message.h"

namespace bandana::testing {

// Merges the fields of `bytes` into `message`, unknown ones left out. False: WireReader refuses
// them, or messages stand in one another more than 100 deep, where protobuf refuses them as well.
bool ReadByReflection(std::string_view bytes, google::protobuf::Message& message);

// ReadByReflection agrees with protobuf about `bytes`: both refuse them, or both read the same
// fields. Groups, which WireReader alone refuses, excepted. `message` is of the type to read.
bool AgreesWithProtobuf(std::string_view bytes, const google::protobuf::Message& message);

}  // namespace bandana::testing
