#include "common/bandits/effects/block_rebase.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/bandits/effects/block_kernels.h"

namespace bandana {
namespace {

// L with L L' = the symmetric matrix whose lower triangle is given, in place. Rounding may make the
// matrix slightly indefinite; its pivots do not go below `floor`.
void Factor(std::vector<double>& a, std::size_t n, double floor) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      for (std::size_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    const double pivot = std::sqrt(std::max(a[j * n + j], floor));
    a[j * n + j] = pivot;
    for (std::size_t i = j + 1; i < n; ++i) a[i * n + j] /= pivot;
  }
}

// L^-1 x, then L'^-1 x, in place.
void SolveLower(const std::vector<double>& l, std::size_t n, double* x) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
}
void SolveUpper(const std::vector<double>& l, std::size_t n, double* x) {
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
}

}  // namespace

// With G = W'W and K = I + (p2 - p) G / p^2 = L L': P2 = p2 I - (p2/p)^2 W K^-1 W' and
// m2 = p2/p (m + (p - p2)/p^2 W K^-1 W'm), as m is in the span of W (Woodbury).
void RebaseVectors(float* mean, float* vectors, std::uint32_t count, std::size_t n, double p,
                   double p2) {
  const std::size_t c = count;
  std::vector<double> k(c * c);
  std::vector<double> along(c);
  for (std::size_t i = 0; i < c; ++i) {
    const float* w = vectors + i * n;
    for (std::size_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::size_t l = 0; l < n; ++l) dot += double{w[l]} * vectors[j * n + l];
      k[i * c + j] = (i == j ? 1 : 0) + (p2 - p) / (p * p) * dot;
    }
    for (std::size_t l = 0; l < n; ++l) along[i] += double{w[l]} * mean[l];
  }
  Factor(k, c, std::min(1.0, p2 / p) * 1e-6);
  SolveLower(k, c, along.data());
  SolveUpper(k, c, along.data());
  std::vector<double> row(c);
  for (std::size_t l = 0; l < n; ++l) {
    double moved = 0;
    for (std::size_t i = 0; i < c; ++i) {
      row[i] = vectors[i * n + l];
      moved += row[i] * along[i];
    }
    mean[l] = static_cast<float>(p2 / p * (mean[l] + (p - p2) / (p * p) * moved));
    SolveLower(k, c, row.data());
    for (std::size_t i = 0; i < c; ++i) vectors[i * n + l] = static_cast<float>(p2 / p * row[i]);
  }
}

// With A = I + (1/p2 - 1/p) P: P2 = A^-1 P and m2 = A^-1 m.
void RebaseRows(float* mean, float* rows, std::size_t d, double p, double p2) {
  std::vector<double> full(d * d);
  const float* row = rows;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) full[i * d + j] = full[j * d + i] = row[j];
    row += BlockLanes(i + 1);
  }
  std::vector<double> a(d * d);
  for (std::size_t i = 0; i < d * d; ++i) a[i] = (1 / p2 - 1 / p) * full[i];
  for (std::size_t i = 0; i < d; ++i) a[i * d + i] += 1;
  Factor(a, d, std::min(1.0, p / p2) * 1e-6);
  std::vector<double> moved(mean, mean + d);
  SolveLower(a, d, moved.data());
  SolveUpper(a, d, moved.data());
  std::copy(moved.begin(), moved.end(), mean);
  for (std::size_t i = 0; i < d; ++i) {  // P is symmetric: its rows are its columns
    SolveLower(a, d, &full[i * d]);
    SolveUpper(a, d, &full[i * d]);
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < std::min(d, BlockLanes(i + 1)); ++j) {
      rows[j] = static_cast<float>(0.5 * (full[i * d + j] + full[j * d + i]));
    }
    rows += BlockLanes(i + 1);
  }
}

}  // namespace bandana
