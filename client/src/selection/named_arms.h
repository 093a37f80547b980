// Named values on the device: encoded here where the device ranks, else sent as they are.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "bandana/v1/recommender.pb.h"
#include "common/features/value_log.h"
#include "common/promise/public_spec.h"
#include "google/protobuf/struct.pb.h"

namespace bandana::device {

google::protobuf::Struct ToStruct(const Features& features);

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

// Named arms, names of catalogue arms, and the context of a request to the server. Errors:
// INVALID_ARGUMENT shapes.
absl::Status FillNamed(const Arms& arms, v1::SelectRequest& request);

}  // namespace bandana::device
