#include "common/mechanisms/counters/increment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/base/status.h"
#include "common/mechanisms/counters/erase.h"

namespace bandana {
namespace {

// PROOF: counters begin
bool WithinBound(std::span<const std::int64_t> values, std::int64_t bound) {
  unsigned __int128 sum = 0;  // at most 2^16 squares below 2^64
  for (const std::int64_t v : values) {
    const unsigned __int128 magnitude = static_cast<unsigned __int128>(v < 0 ? -v : v);
    sum += magnitude * magnitude;
  }
  return sum <= static_cast<unsigned __int128>(bound) * static_cast<unsigned __int128>(bound);
}

// Towards zero by one step and a millionth.
std::int64_t Shrink(std::int64_t v) {
  const std::int64_t magnitude = v < 0 ? -v : v;
  const std::int64_t less = std::max<std::int64_t>(0, magnitude - (magnitude >> 20) - 1);
  return v < 0 ? -less : less;
}
// PROOF: counters end

}  // namespace

// PROOF: counters begin
absl::StatusOr<ClippedIncrement> ClippedIncrement::Clip(std::span<const double> increment,
                                                        const IncrementGrid& grid) {
  if (increment.size() != grid.dimension) {
    return InvalidArgument("increment must have ", grid.dimension, " coordinates, got ",
                           increment.size());
  }
  ClippedIncrement clipped(grid, std::vector<std::int64_t>(grid.dimension, 0));
  double largest = 0;
  for (const double x : increment) {
    if (!std::isfinite(x)) return clipped;
    largest = std::max(largest, std::abs(x));
  }
  if (largest == 0) return clipped;
  double squares = 0;  // of increment / largest, so that nothing overflows
  for (const double x : increment) squares += (x / largest) * (x / largest);
  const double norm = std::sqrt(squares);  // in [1, sqrt(dimension)]
  const double bound = static_cast<double>(grid.norm_bound);
  const double largest_steps = std::min(std::ldexp(largest, -grid.exponent), bound / norm);
  for (std::size_t i = 0; i < increment.size(); ++i) {
    // At most the bound, which int64 holds.
    clipped.values_[i] = static_cast<std::int64_t>(increment[i] / largest * largest_steps);
  }
  // The arithmetic above may err by a few ulps; this decides. Each pass shortens every coordinate.
  while (!WithinBound(clipped.values_, grid.norm_bound)) {
    for (std::int64_t& v : clipped.values_) v = Shrink(v);
  }
  return clipped;
}
// PROOF: counters end

Sha256Digest ClippedIncrement::ChainAfter(const Sha256Digest& before) const {
  const std::array<std::int64_t, 2> shape = {grid_.exponent,
                                             static_cast<std::int64_t>(grid_.dimension)};
  return Sha256()
      .Update("bandana increment 1")
      .Update(before)
      .Update(std::as_bytes(std::span(shape)))
      .Update(std::as_bytes(std::span(values_)))
      .Finish();
}

ClippedIncrement::~ClippedIncrement() { Erase(values_); }

}  // namespace bandana
