#include "common/bandits/effects/block_kernels.h"

#include <algorithm>
#include <cstring>

#include "common/base/target_clones.h"

namespace bandana {
namespace {

constexpr std::size_t kLanes = kBlockLanes;

// Eight floats in a register, and at any address. Only inlined functions take or return one, so how
// they are passed does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
using Vec = float __attribute__((vector_size(kLanes * sizeof(float))));

#define BANDANA_INLINE inline __attribute__((always_inline))

BANDANA_INLINE Vec Load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
BANDANA_INLINE void Store(float* p, const Vec& v) { std::memcpy(p, &v, sizeof v); }

BANDANA_INLINE float Total(const Vec& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Lane r of the result is Total(s[r]).
BANDANA_INLINE Vec Totals(const Vec (&s)[kLanes]) {
  Vec halves[4];
  for (int r = 0; r < 4; ++r) {
    halves[r] = __builtin_shufflevector(s[r], s[r + 4], 0, 1, 2, 3, 8, 9, 10, 11) +
                __builtin_shufflevector(s[r], s[r + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  Vec quarters[2];
  for (int r = 0; r < 2; ++r) {
    const Vec a = halves[2 * r];
    const Vec b = halves[2 * r + 1];
    quarters[r] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
                  __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  return __builtin_shufflevector(quarters[0], quarters[1], 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(quarters[0], quarters[1], 1, 3, 9, 11, 5, 7, 13, 15);
}

BANDANA_INLINE float DotOf(const float* a, const float* b, std::size_t n) {
  Vec sum = {};
  for (std::size_t i = 0; i < n; i += kLanes) sum += Load(a + i) * Load(b + i);
  return Total(sum);
}

// The part of y = P z from the eight rows from `first` on: their own eight numbers, which are set
// here, and by symmetry the numbers before, to which they add.
BANDANA_INLINE void ProjectEightRows(const float* rows, std::size_t first, const float* z,
                                     float* y) {
  const std::size_t length = first + kLanes;
  Vec sums[kLanes] = {};
  for (std::size_t j = 0; j < first; j += kLanes) {
    const Vec zj = Load(z + j);
    Vec even = Load(y + j);
    Vec odd = {};
    for (std::size_t r = 0; r < kLanes; ++r) {
      const Vec p = Load(rows + r * length + j);
      sums[r] += p * zj;
      (r % 2 == 0 ? even : odd) += p * z[first + r];
    }
    Store(y + j, even + odd);
  }
  Vec even = Totals(sums);
  Vec odd = {};
  for (std::size_t r = 0; r < kLanes; ++r) {
    (r % 2 == 0 ? even : odd) += Load(rows + r * length + first) * z[first + r];
  }
  Store(y + first, even + odd);
}

}  // namespace

BANDANA_TARGET_CLONES
float Dot(const float* a, const float* b, std::size_t n) { return DotOf(a, b, n); }

BANDANA_TARGET_CLONES
void ProjectThroughVectors(const float* vectors, std::uint32_t count, float prior, const float* z,
                           float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = prior * z[i];
  for (; count >= kLanes; count -= kLanes, vectors += kLanes * n) {
    Vec sums[kLanes] = {};
    for (std::size_t i = 0; i < n; i += kLanes) {
      const Vec zi = Load(z + i);
      for (std::size_t r = 0; r < kLanes; ++r) sums[r] += Load(vectors + r * n + i) * zi;
    }
    const Vec along = Totals(sums);
    for (std::size_t i = 0; i < n; i += kLanes) {
      Vec yi = Load(y + i);
      for (std::size_t r = 0; r < kLanes; ++r) yi -= Load(vectors + r * n + i) * along[r];
      Store(y + i, yi);
    }
  }
  for (; count > 0; --count, vectors += n) {
    const float along = DotOf(vectors, z, n);
    for (std::size_t i = 0; i < n; i += kLanes) {
      Store(y + i, Load(y + i) - Load(vectors + i) * along);
    }
  }
}

BANDANA_TARGET_CLONES
void ProjectThroughRows(const float* rows, const float* z, float* y, std::size_t d) {
  std::size_t first = 0;
  for (; first + kLanes <= d; first += kLanes) {
    ProjectEightRows(rows, first, z, y);
    rows += kLanes * (first + kLanes);
  }
  if (first == d) return;
  Store(y + first, Vec{});
  for (std::size_t i = first; i < d; ++i, rows += first + kLanes) {
    Vec sum = {};
    for (std::size_t j = 0; j < first; j += kLanes) {
      const Vec p = Load(rows + j);
      sum += p * Load(z + j);
      Store(y + j, Load(y + j) + p * z[i]);
    }
    Store(y + first, Load(y + first) + Load(rows + first) * z[i]);
    y[i] += Total(sum);
  }
}

BANDANA_TARGET_CLONES
void SubtractOuter(float* rows, const float* w, std::size_t d) {
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t n = BlockLanes(i + 1);
    for (std::size_t j = 0; j < n; j += kLanes) {
      Store(rows + j, Load(rows + j) - Load(w + j) * w[i]);
    }
    rows += n;
  }
}

void AddDiagonal(float* rows, float p, std::size_t d) {
  for (std::size_t i = 0; i < d; ++i) {
    rows[i] += p;
    rows += BlockLanes(i + 1);
  }
}

}  // namespace bandana
