#include "common/mechanisms/integer_clip.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace bandana {

// PROOF: joint_gaussian begin
bool WithinL2(std::span<const std::int64_t> values, std::int64_t bound) {
  unsigned __int128 sum = 0;
  for (const std::int64_t value : values) {
    sum += static_cast<unsigned __int128>(static_cast<__int128>(value) * value);
  }
  return sum <= static_cast<unsigned __int128>(static_cast<__int128>(bound) * bound);
}

std::optional<std::vector<std::int64_t>> ClipL2(std::span<const double> x, double unit,
                                                std::int64_t bound) {
  BANDANA_CHECK(unit > 0 && std::isfinite(unit));
  BANDANA_CHECK(1 <= bound && bound <= kClipBoundMax);
  BANDANA_CHECK(x.size() <= kClipCoordinatesMax);
  double largest = 0;
  for (const double value : x) {
    if (!std::isfinite(value)) return std::nullopt;
    largest = std::max(largest, std::abs(value));
  }
  std::vector<std::int64_t> grid(x.size(), 0);
  if (largest == 0) return grid;
  const double limit = static_cast<double>(bound);
  if (largest / unit <= limit) {
    for (std::size_t i = 0; i < x.size(); ++i) grid[i] = static_cast<std::int64_t>(x[i] / unit);
    if (WithinL2(grid, bound)) return grid;
  }
  // Only the direction is left to keep. Divided by the largest coordinate nothing overflows, and
  // the norm lies in [1, 1024].
  double squares = 0;
  for (const double value : x) squares += (value / largest) * (value / largest);
  double scale = limit / std::sqrt(squares);
  do {
    for (std::size_t i = 0; i < x.size(); ++i) {
      grid[i] = static_cast<std::int64_t>(x[i] / largest * scale);
    }
    scale *= 1 - 0x1p-30;  // rounding left it just above the bound: hardly ever once
  } while (!WithinL2(grid, bound));
  return grid;
}
// PROOF: joint_gaussian end

}  // namespace bandana
