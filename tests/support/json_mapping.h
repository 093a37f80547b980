// The server's JSON beside protobuf's own.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace bandana::testing {

// How a JSON document is read as a message of the prototype's type by protobuf and by FromJson, and
// how what was read is written by both and read by the other. Empty: alike. Else what differs, for
// people, with the document. Protobuf's parser takes more than JSON (RFC 8259): what CheckJson
// refuses counts as refused by both.
//
// Three differences are meant, and count as none: a member without a name, which protobuf 3.21
// takes for the list around it; a Duration of 2^63 seconds or more, of which it keeps 64 bits; and
// a FieldMask with brackets or quotes, which it unfolds. Documents with such texts are not
// compared, where the message has fields of these types.
std::string JsonDifference(std::string_view text, const google::protobuf::Message& prototype);

}  // namespace bandana::testing
