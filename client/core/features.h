// Feature vectors on the device: checks, clipping, and the packed form that the store keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana::device {

// n = features.size() / dimension arms. Errors: INVALID_ARGUMENT empty, not a multiple of the
// dimension, or not finite; the message gives shapes only.
absl::StatusOr<int> CheckInlineArms(std::span<const double> features, int dimension);

// Returns the arms with zeros for every row that holds a number that is not finite.
std::vector<double> ZerosForNonFinite(std::span<const double> features, int dimension);

// Returns the arms as the server would clip them (feature_ball.h): rows longer than l2_max scaled
// onto it; with `reject` INVALID_ARGUMENT where it is more than rounding. Requires CheckInlineArms.
absl::StatusOr<std::vector<double>> ClipArms(std::span<const double> features, int dimension,
                                             double l2_max, bool reject);

// Row `row` of n x d features. Requires that it is there.
inline std::span<const double> FeaturesOfRow(std::span<const double> features, int row,
                                             int dimension) {
  return features.subspan(static_cast<std::size_t>(row) * dimension, dimension);
}

// Row `rank` of packed features; empty when there is none.
std::vector<double> FeaturesOfRank(std::string_view bytes, int rank, std::size_t dimension);

// Doubles as little-endian bytes.
std::string PackFeatures(std::span<const double> features);

// Packed arms are the packed features of some ranks, and then, where arms have ids, 4 bytes of each
// rank's id.
void AppendArmIds(std::span<const std::uint32_t> ids, std::string& bytes);
// Whether that is what the bytes can be.
bool ArePackedArms(std::string_view bytes, int ranks, std::size_t dimension);
// One of them, packed. Requires packed arms, and that it is among them.
std::string PackedArm(std::string_view bytes, int rank, int ranks, std::size_t dimension);

}  // namespace bandana::device
