// The text that a policy's hash is of (docs/formats.md#policy-hash): one `name=value` per line.
// Servers write it; a device takes the policy from the text that it was sent, and prints no number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/promise/model_message.h"
#include "common/promise/public_spec.h"

namespace bandana {

// "": this build prints no numbers (client/core/stand_in/policy_text.cc).
std::string PolicyText(const PublicSpec& spec);

// The lines of a text, with ranges unchecked.
struct PolicyLines {
  wire::Model model;                   // the fields that are policy
  std::optional<ContextSpec> context;  // which each device derives
};

// Every line is known, stands once and in its place, none is missing, and the first names the
// format that has them all. Errors: INVALID_ARGUMENT, with the number of the line.
absl::StatusOr<PolicyLines> ReadPolicyText(std::string_view text);

// The first field of the policy that a message says otherwise than its text; "" where it says all
// alike, or none of them.
std::string FieldUnlikeText(const wire::Model& message, const wire::Model& text);

}  // namespace bandana
