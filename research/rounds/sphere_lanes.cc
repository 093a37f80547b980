#include "research/rounds/sphere_lanes.h"

#include <bit>
#include <cmath>

#include "common/base/target_clones.h"

namespace bandana {
namespace {

constexpr int kLanes = kSphereLanes;
constexpr int kPairsMax = 16;

[[gnu::always_inline]] inline std::uint32_t Rotate(std::uint32_t v, int by) {
  return (v << by) | (v >> (32 - by));
}

[[gnu::always_inline]] inline void Next(std::uint32_t (&s)[4][kLanes], std::uint32_t* out) {
  for (int l = 0; l < kLanes; ++l) {
    out[l] = Rotate(s[0][l] + s[3][l], 7) + s[0][l];
    const std::uint32_t t = s[1][l] << 9;
    s[2][l] ^= s[0][l];
    s[3][l] ^= s[1][l];
    s[1][l] ^= s[2][l];
    s[0][l] ^= s[3][l];
    s[2][l] ^= t;
    s[3][l] = Rotate(s[3][l], 11);
  }
}

// Natural logarithm of k 2^-24, 1 <= k <= 2^24, to 2^-21: ln(m 2^e) with m in [sqrt(1/2), sqrt 2),
// and the series of artanh in z = (m - 1) / (m + 1), |z| < 0.172.
[[gnu::always_inline]] inline float Log24(std::uint32_t k) {
  const float u = static_cast<float>(static_cast<std::int32_t>(k)) * 0x1p-24f;
  const auto bits = std::bit_cast<std::int32_t>(u);
  const std::int32_t exponent = (bits - 0x3f3504f3) >> 23;  // of m; 0x3f3504f3 is sqrt(1/2)
  const float m = std::bit_cast<float>(bits - (exponent << 23));
  const float z = (m - 1) / (m + 1);
  const float w = z * z;
  const float series = z * (2 + w * (2.f / 3 + w * (2.f / 5 + w * (2.f / 7))));
  return series + static_cast<float>(exponent) * 0.693147181f;
}

// Two independent standard normals from 64 bits: the radius from 24 of them; the angle is one of
// four quarters, turned by up to an eighth of the circle each way.
[[gnu::always_inline]] inline void NormalPair(std::uint32_t a, std::uint32_t b, float& x,
                                              float& y) {
  const float radius = std::sqrt(-2 * Log24((a >> 8) + 1));
  const float t = static_cast<float>(static_cast<std::int32_t>(b >> 8)) * 0x1p-24f - 0.5f;
  const float v = t * 1.570796327f;  // |v| <= pi / 4
  const float w = v * v;
  const float sine = v * (1 - w * (1.f / 6 - w * (1.f / 120 - w * (1.f / 5040))));
  const float cosine = 1 - w * (0.5f - w * (1.f / 24 - w * (1.f / 720 - w * (1.f / 40320))));
  const std::uint32_t sign = (b & 1u) << 31;
  const bool turned = (b & 2u) != 0;
  const float c = turned ? -sine : cosine;
  const float s = turned ? cosine : sine;
  x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(radius * c) ^ sign);
  y = std::bit_cast<float>(std::bit_cast<std::uint32_t>(radius * s) ^ sign);
}

}  // namespace

LaneGenerator::LaneGenerator(SeededStream stream) {
  for (auto& word : s) {
    for (std::uint32_t& lane : word) lane = static_cast<std::uint32_t>(stream.Next() >> 32) | 1u;
  }
}

BANDANA_TARGET_CLONES
void DrawDirections(LaneGenerator& generator, int dimension, std::size_t count, std::size_t stride,
                    float* x) {
  std::uint32_t s[4][kLanes];
  for (int i = 0; i < 4; ++i) {
    for (int l = 0; l < kLanes; ++l) s[i][l] = generator.s[i][l];
  }
  float normals[2 * kPairsMax][kLanes];
  std::uint32_t a[kLanes], b[kLanes];
  float scale[kLanes];
  const int pairs = (dimension + 1) / 2;
  for (std::size_t i = 0; i < count; i += kLanes) {
    for (int p = 0; p < pairs; ++p) {
      Next(s, a);
      Next(s, b);
      for (int l = 0; l < kLanes; ++l)
        NormalPair(a[l], b[l], normals[2 * p][l], normals[2 * p + 1][l]);
    }
    for (int l = 0; l < kLanes; ++l) scale[l] = 1e-30f;  // a vector of zeros stays one
    for (int c = 0; c < dimension; ++c) {
      for (int l = 0; l < kLanes; ++l) scale[l] += normals[c][l] * normals[c][l];
    }
    for (int l = 0; l < kLanes; ++l) scale[l] = (1 - 0x1p-21f) / std::sqrt(scale[l]);
    for (int c = 0; c < dimension; ++c) {
      for (int l = 0; l < kLanes; ++l) x[c * stride + i + l] = normals[c][l] * scale[l];
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int l = 0; l < kLanes; ++l) generator.s[i][l] = s[i][l];
  }
}

BANDANA_TARGET_CLONES
void DrawUniforms(LaneGenerator& generator, std::size_t count, float* u) {
  std::uint32_t a[kLanes];
  for (std::size_t i = 0; i < count; i += kLanes) {
    Next(generator.s, a);
    for (int l = 0; l < kLanes; ++l)
      u[i + l] = static_cast<float>(static_cast<std::int32_t>(a[l] >> 8)) * 0x1p-24f;
  }
}

BANDANA_TARGET_CLONES
void DotColumns(const float* theta, int dimension, std::size_t count, std::size_t stride,
                const float* x, float* out) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    float sum[kLanes] = {};
    for (int c = 0; c < dimension; ++c) {
      for (int l = 0; l < kLanes; ++l) sum[l] += theta[c] * x[c * stride + i + l];
    }
    for (int l = 0; l < kLanes; ++l) out[i + l] = sum[l];
  }
}

}  // namespace bandana
