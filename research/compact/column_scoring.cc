#include "research/compact/column_scoring.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "common/base/target_clones.h"

namespace bandana {
namespace {

// Vectors of the compiler: without vector instructions they are loops.
using Lanes [[gnu::vector_size(sizeof(float) * ColumnScorer::kLanes)]] = float;
using Positions [[gnu::vector_size(sizeof(int) * ColumnScorer::kLanes)]] = int;

// One chunk of arms: mean + sqrt(quadratic form). kDimension 0: `d` at run time.
template <int kDimension, bool kWide>
[[gnu::always_inline]] inline void Score(const float* mean, const float* quadratic, int d,
                                         const float* x, std::size_t stride, Lanes& score) {
  const int n = kDimension > 0 ? kDimension : d;
  Lanes column[kDimension > 0 ? kDimension : ColumnScorer::kDimensionMax];
  score = Lanes{};
  Lanes square = {};
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) {
    std::memcpy(&column[i], x + i * stride, sizeof(Lanes));
    score += mean[i] * column[i];
    if (!kWide) continue;
    Lanes row = {};
#pragma GCC unroll 8
    for (int j = 0; j <= i; ++j) row += *quadratic++ * column[j];
    square += row * column[i];
  }
  if (!kWide) return;
  float root[ColumnScorer::kLanes];
  std::memcpy(root, &square, sizeof(root));
  for (float& value : root) value = std::sqrt(value > 0 ? value : 0.0f);
  std::memcpy(&square, root, sizeof(root));
  score += square;
}

template <int kDimension, bool kWide>
[[gnu::always_inline]] inline int BestOf(const float* mean, const float* quadratic, int d,
                                         const float* x, std::size_t stride, int arms) {
  Lanes best = Lanes{} - std::numeric_limits<float>::infinity();
  Positions position = {};
  Positions here = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int first = 0; first < arms; first += ColumnScorer::kLanes) {
    Lanes score;
    Score<kDimension, kWide>(mean, quadratic, d, x + first, stride, score);
    const Positions better = (score > best) & (here < arms);
    best = better ? score : best;
    position = better ? here : position;
    here += ColumnScorer::kLanes;
  }
  int lane = 0;
  for (int l = 1; l < ColumnScorer::kLanes; ++l) {
    if (best[l] > best[lane] || (best[l] == best[lane] && position[l] < position[lane])) lane = l;
  }
  return position[lane];
}

BANDANA_TARGET_CLONES
int BestWide(const float* mean, const float* quadratic, int d, const float* x, std::size_t stride,
             int arms) {
  if (d == 5) return BestOf<5, true>(mean, quadratic, d, x, stride, arms);
  return BestOf<0, true>(mean, quadratic, d, x, stride, arms);
}

BANDANA_TARGET_CLONES
int BestMean(const float* mean, int d, const float* x, std::size_t stride, int arms) {
  if (d == 5) return BestOf<5, false>(mean, nullptr, d, x, stride, arms);
  return BestOf<0, false>(mean, nullptr, d, x, stride, arms);
}

}  // namespace

void ColumnScorer::Set(std::span<const double> mean, std::span<const double> covariance,
                       double alpha) {
  BANDANA_CHECK(!mean.empty() && mean.size() <= static_cast<std::size_t>(kDimensionMax));
  BANDANA_CHECK(alpha >= 0);
  dimension_ = static_cast<int>(mean.size());
  for (int i = 0; i < dimension_; ++i) mean_[i] = static_cast<float>(mean[i]);
  wide_ = alpha > 0;
  if (!wide_) return;
  const std::size_t d = mean.size();
  BANDANA_CHECK(covariance.size() == d * d);
  quadratic_.resize(d * (d + 1) / 2);
  float* entry = quadratic_.data();
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      *entry++ = static_cast<float>(2 * alpha * alpha * covariance[i * d + j]);
    *entry++ = static_cast<float>(alpha * alpha * covariance[i * d + i]);
  }
}

int ColumnScorer::Best(const float* x, std::size_t stride, int arms) const {
  return wide_ ? BestWide(mean_, quadratic_.data(), dimension_, x, stride, arms)
               : BestMean(mean_, dimension_, x, stride, arms);
}

}  // namespace bandana
