// Feature vectors on the device: checks, clipping, and the packed form that the store keeps.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_field.h"

namespace bandana::device {

// n = features.size() / dimension arms. Errors: INVALID_ARGUMENT empty, not a multiple of the
// dimension, or not finite; the message gives shapes only.
absl::StatusOr<int> CheckInlineArms(std::span<const double> features, int dimension);

// The same arms as the server would clip them: rows longer than l2_max scaled onto it, or, with
// `reject`, INVALID_ARGUMENT. Requires CheckInlineArms.
absl::StatusOr<std::vector<double>> ClipArms(std::span<const double> features, int dimension,
                                             double l2_max, bool reject);

// Doubles as little-endian bytes and back.
std::string PackFeatures(std::span<const double> features);
void UnpackFeatures(std::string_view bytes, google::protobuf::RepeatedField<double>& features);

}  // namespace bandana::device
