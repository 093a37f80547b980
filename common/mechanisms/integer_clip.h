// Clipping whose result provably keeps its bound, because the bound is checked in integers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bandana {

// The largest bound, in grid steps, and the most coordinates: sums of squares stay below 2^101.
inline constexpr std::int64_t kClipBoundMax = std::int64_t{1} << 40;
inline constexpr std::size_t kClipCoordinatesMax = std::size_t{1} << 20;

// True if the sum of squares is at most bound^2, exactly, in 128 bits. Requires |value| <= 2
// kClipBoundMax and at most kClipCoordinatesMax values.
bool WithinL2(std::span<const std::int64_t> values, std::int64_t bound);

// The vector x / unit on the integer grid: each coordinate rounded toward zero, then, if its L2
// norm exceeds `bound`, the vector scaled down and rounded toward zero again. The result always
// passes WithinL2. nullopt if a coordinate is NaN or infinite: the caller takes the zero vector and
// may count it. Requires unit > 0 finite, bound in [1, kClipBoundMax], x.size() <=
// kClipCoordinatesMax.
std::optional<std::vector<std::int64_t>> ClipL2(std::span<const double> x, double unit,
                                                std::int64_t bound);

}  // namespace bandana
