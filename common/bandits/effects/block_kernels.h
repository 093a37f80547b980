// The loops of a block's belief, in float: the same bits on every processor, as sums run over fixed
// lanes and nothing is fused. Vectors have BlockLanes(d) floats, those beyond d zero. Packed rows
// of a symmetric matrix: row i has its first BlockLanes(i + 1) floats, so that the squares of
// kBlockLanes on the diagonal are whole; those beyond d are zero. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bandana {

inline constexpr std::size_t kBlockLanes = 8;  // floats of one vector register

constexpr std::size_t BlockLanes(std::size_t d) {
  return (d + kBlockLanes - 1) / kBlockLanes * kBlockLanes;
}
constexpr std::size_t PackedFloats(std::size_t d) {
  std::size_t floats = 0;
  for (std::size_t row = 1; row <= d; ++row) floats += BlockLanes(row);
  return floats;
}

// a'b over n floats, a multiple of kBlockLanes.
float Dot(const float* a, const float* b, std::size_t n);

// y = prior z - sum w (w'z) over `count` vectors of n floats each. n: a multiple of kBlockLanes.
void ProjectThroughVectors(const float* vectors, std::uint32_t count, float prior, const float* z,
                           float* y, std::size_t n);

// y = P z for the packed rows of P, d x d.
void ProjectThroughRows(const float* rows, const float* z, float* y, std::size_t d);

// P -= w w'. A symmetric P stays exactly symmetric.
void SubtractOuter(float* rows, const float* w, std::size_t d);

// P += p I.
void AddDiagonal(float* rows, float p, std::size_t d);

}  // namespace bandana
