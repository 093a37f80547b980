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

// The same arms with zeros for every row that holds a number that is not finite.
std::vector<double> ZerosForNonFinite(std::span<const double> features, int dimension);

// The same arms as the server would clip them (feature_ball.h): rows longer than l2_max scaled onto
// it; with `reject` INVALID_ARGUMENT where it is more than rounding. Requires CheckInlineArms.
absl::StatusOr<std::vector<double>> ClipArms(std::span<const double> features, int dimension,
                                             double l2_max, bool reject);

// Row `row` of n x d features. Requires that it is there.
inline std::span<const double> FeaturesOfRow(std::span<const double> features, int row,
                                             int dimension) {
  return features.subspan(static_cast<std::size_t>(row) * dimension, dimension);
}

// Row `rank` of packed features; empty when there is none.
std::vector<double> FeaturesOfRank(std::string_view bytes, int rank, std::size_t dimension);

// Doubles as little-endian bytes and back.
std::string PackFeatures(std::span<const double> features);
void UnpackFeatures(std::string_view bytes, google::protobuf::RepeatedField<double>& features);

}  // namespace bandana::device
