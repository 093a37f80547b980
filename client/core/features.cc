#include "client/core/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/base/status.h"
#include "common/mechanisms/feature_ball.h"

namespace bandana::device {

static_assert(std::endian::native == std::endian::little);

namespace {
constexpr std::size_t kIdBytes = sizeof(std::uint32_t);
}  // namespace

absl::StatusOr<int> CheckInlineArms(std::span<const double> features, int dimension) {
  if (features.empty() || features.size() % dimension != 0) {
    return InvalidArgument("arms.features must hold n x ", dimension, " values, n >= 1, got ",
                           features.size());
  }
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!std::isfinite(features[i])) {
      return InvalidArgument("arms.features: row ", i / dimension, " is not finite");
    }
  }
  return static_cast<int>(features.size() / dimension);
}

std::vector<double> ZerosForNonFinite(std::span<const double> features, int dimension) {
  std::vector<double> finite(features.begin(), features.end());
  const auto d = static_cast<std::size_t>(dimension);
  for (std::size_t row = 0; row + d <= finite.size(); row += d) {
    const auto begin = finite.begin() + static_cast<std::ptrdiff_t>(row);
    const auto end = begin + dimension;
    if (!std::all_of(begin, end, [](double x) { return std::isfinite(x); })) {
      std::fill(begin, end, 0.0);
    }
  }
  return finite;
}

absl::StatusOr<std::vector<double>> ClipArms(std::span<const double> features, int dimension,
                                             double l2_max, bool reject) {
  std::vector<double> clipped(features.begin(), features.end());
  const auto d = static_cast<std::size_t>(dimension);
  for (std::size_t row = 0; row + d <= clipped.size(); row += d) {
    const BallFit fit = ClipToBall(std::span(clipped).subspan(row, d), l2_max);
    if (reject && fit == BallFit::kOutside) {
      return InvalidArgument("arms.features: row ", row / d, " is longer than ", l2_max);
    }
  }
  return clipped;
}

std::vector<double> FeaturesOfRank(std::string_view bytes, int rank, std::size_t dimension) {
  const std::size_t row_bytes = dimension * sizeof(double);
  if (rank < 0 || bytes.size() < (rank + std::size_t{1}) * row_bytes) return {};
  std::vector<double> row(dimension);
  std::memcpy(row.data(), bytes.data() + rank * row_bytes, row_bytes);
  return row;
}

std::string PackFeatures(std::span<const double> features) {
  return std::string(reinterpret_cast<const char*>(features.data()), features.size_bytes());
}

void AppendArmIds(std::span<const std::uint32_t> ids, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
}

bool ArePackedArms(std::string_view bytes, int ranks, std::size_t dimension) {
  const std::size_t features = dimension * sizeof(double);
  return bytes.size() == ranks * features || bytes.size() == ranks * (features + kIdBytes);
}

std::string PackedArm(std::string_view bytes, int rank, int ranks, std::size_t dimension) {
  const std::size_t row = dimension * sizeof(double);
  std::string arm(bytes.substr(rank * row, row));
  if (bytes.size() > ranks * row) arm += bytes.substr(ranks * row + rank * kIdBytes, kIdBytes);
  return arm;
}

}  // namespace bandana::device
