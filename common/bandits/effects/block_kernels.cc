#include "common/bandits/effects/block_kernels.h"

#include <algorithm>

#include "common/base/target_clones.h"

namespace bandana {
namespace {

struct Lanes {
  float sum[kBlockLanes] = {};

  float Total() const {
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  }
};

inline __attribute__((always_inline)) float DotOf(const float* a, const float* b, std::size_t n) {
  Lanes lanes;
  for (std::size_t i = 0; i < n; i += kBlockLanes) {
    for (std::size_t l = 0; l < kBlockLanes; ++l) lanes.sum[l] += a[i + l] * b[i + l];
  }
  return lanes.Total();
}

}  // namespace

BANDANA_TARGET_CLONES
float Dot(const float* a, const float* b, std::size_t n) { return DotOf(a, b, n); }

BANDANA_TARGET_CLONES
void ProjectThroughVectors(const float* vectors, std::uint32_t count, float prior, const float* z,
                           float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = prior * z[i];
  for (std::uint32_t vector = 0; vector < count; ++vector, vectors += n) {
    const float along = DotOf(vectors, z, n);
    for (std::size_t i = 0; i < n; ++i) y[i] -= vectors[i] * along;
  }
}

BANDANA_TARGET_CLONES
void ProjectThroughRows(const float* rows, const float* z, float* y, std::size_t d) {
  std::fill(y, y + BlockLanes(d), 0.0f);
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t n = BlockLanes(i + 1);
    const float zi = z[i];
    Lanes lanes;
    // Above the diagonal by symmetry: y_j gets P_ij z_i for j <= i, y_i the sum of P_ij z_j.
    for (std::size_t j = 0; j < n; j += kBlockLanes) {
      for (std::size_t l = 0; l < kBlockLanes; ++l) {
        lanes.sum[l] += rows[j + l] * z[j + l];
        y[j + l] += rows[j + l] * zi;
      }
    }
    y[i] += lanes.Total() - rows[i] * zi;
    rows += n;
  }
}

BANDANA_TARGET_CLONES
void SubtractOuter(float* rows, const float* y, float scale, std::size_t d) {
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t n = BlockLanes(i + 1);
    const float factor = y[i] * scale;
    for (std::size_t j = 0; j < n; ++j) rows[j] -= factor * y[j];
    for (std::size_t j = i + 1; j < n; ++j) rows[j] = 0;
    rows += n;
  }
}

void RowsFromVectors(const float* vectors, std::uint32_t count, float prior, float* rows,
                     std::size_t d) {
  const std::size_t n = BlockLanes(d);
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t size = BlockLanes(i + 1);
    std::fill(rows, rows + size, 0.0f);
    for (std::size_t j = 0; j <= i; ++j) {
      float value = i == j ? prior : 0.0f;
      for (std::uint32_t c = 0; c < count; ++c) value -= vectors[c * n + i] * vectors[c * n + j];
      rows[j] = value;
    }
    rows += size;
  }
}

}  // namespace bandana
