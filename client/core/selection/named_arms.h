// Named values on the device, encoded where the device ranks or counts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "common/features/value_log.h"
#include "common/promise/public_spec.h"

namespace bandana::device {

// Arms as vectors, and what is known of their values.
struct EncodedArms {
  std::vector<double> features;    // n x d, row-major
  std::vector<std::string> notes;  // ClientStats and Selection speak of them
  FieldCount count;                // of all fields together
};

// Encodes named arms in their context. Where contexts are private no value decides whether there is
// an event: what is wrong counts as missing. Errors: INVALID_ARGUMENT arms that are not named,
// their number or ids, a model without schema, or by ValueLog.
absl::StatusOr<EncodedArms> EncodeHere(const PublicSpec& spec, const Arms& arms);

}  // namespace bandana::device
