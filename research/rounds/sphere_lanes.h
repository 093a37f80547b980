// Seeded uniform directions, many at a time: plain loops over lanes that a compiler turns into
// vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/environments/random.h"

namespace bandana {

inline constexpr int kSphereLanes = 16;

// xoshiro128++ [Blackman, Vigna 2021], one generator a lane, started from `stream`.
struct LaneGenerator {
  std::uint32_t s[4][kSphereLanes];

  explicit LaneGenerator(SeededStream stream);
};

// Fills `count` columns, a multiple of kSphereLanes, with uniformly random vectors of length 1,
// within 2^-20 below: coordinate c at x[c * stride + i]. dimension in [2, 32]. Normals by Box and
// Muller (1958) from 24-bit uniforms, scaled to length 1.
void DrawDirections(LaneGenerator& generator, int dimension, std::size_t count, std::size_t stride,
                    float* x);

// Uniform on [0, 1), multiples of 2^-24. `count` a multiple of kSphereLanes.
void DrawUniforms(LaneGenerator& generator, std::size_t count, float* u);

// out[i] = sum_c theta[c] x[c * stride + i].
void DotColumns(const float* theta, int dimension, std::size_t count, std::size_t stride,
                const float* x, float* out);

}  // namespace bandana
