// The fields of a configuration, taken from its descriptor, and the tables that must have them all.
#pragma once

#include <google/protobuf/descriptor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace bandana::audit {

// Paths of all fields that hold a value, through messages of this project: "shares.weight".
std::vector<std::string> FieldsOf(const google::protobuf::Descriptor& message);

// `rows`: the fields that a table has. Errors: INTERNAL naming each field without a row and each
// row without a field.
absl::Status CheckCovered(std::string_view table, const google::protobuf::Descriptor& message,
                          std::span<const std::string> rows);

}  // namespace bandana::audit
