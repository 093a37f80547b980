#include "common/linalg/cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/base/check.h"

namespace bandana {
namespace {

// Factors the m x m block at `a`; inverse_diagonal[j] = 1 / L_jj, or 0 where the pivot was
// replaced.
int FactorDiagonalBlock(double* a, std::size_t ld, int m, double pivot_floor,
                        double* inverse_diagonal) {
  int replaced = 0;
  for (int i = 0; i < m; ++i) {
    double* row = a + i * ld;
    double pivot = row[i];
    for (int j = 0; j < i; ++j) {
      const double* other = a + j * ld;
      double sum = row[j];
      for (int l = 0; l < j; ++l) sum -= row[l] * other[l];
      row[j] = sum * inverse_diagonal[j];
      pivot -= row[j] * row[j];
    }
    if (pivot >= 0.5 * pivot_floor) {
      row[i] = std::sqrt(pivot);
      inverse_diagonal[i] = 1 / row[i];
    } else {
      row[i] = std::sqrt(pivot_floor);
      inverse_diagonal[i] = 0;
      ++replaced;
    }
  }
  return replaced;
}

// Copies between columns [0, m) of `rows` rows at `a` and V.
template <typename Copy>
void ForEachEntry(double* a, std::size_t ld, PackedRows& v, Copy copy) {
  for (int i = 0; i < v.rows(); ++i) {
    for (int j = 0; j < v.columns(); ++j) copy(a[i * ld + j], v.at(i, j));
  }
}

}  // namespace

int CholeskyInPlace(double* a, int n, double pivot_floor) {
  const std::size_t ld = n;
  const Kernels& kernels = ActiveKernels();
  PackedRows below;
  double inverse_diagonal[kBlockColumns];
  int replaced = 0;
  for (int b = 0; b < n; b += kBlockColumns) {
    const int m = std::min(kBlockColumns, n - b);
    const int rest = n - b - m;
    double* diagonal = a + b * ld + b;
    replaced += FactorDiagonalBlock(diagonal, ld, m, pivot_floor, inverse_diagonal);
    if (rest == 0) break;
    double* panel = a + (b + m) * ld + b;
    below.Reshape(rest, m);
    ForEachEntry(panel, ld, below, [](double from, double& to) { to = from; });
    kernels.solve_panels(diagonal, ld, inverse_diagonal, m, below.block(0), below.panels());
    ForEachEntry(panel, ld, below, [](double& to, double from) { to = from; });
    kernels.add_outer(-1, below.block(0), rest, m, panel + m, ld);
  }
  return replaced;
}

void SolveTransposed(const double* l, int n, PackedRows& v) {
  BANDANA_CHECK(v.columns() == n);
  const Kernels& kernels = ActiveKernels();
  const std::size_t ld = n;
  std::vector<double> tile(kBlockColumns * kBlockColumns);
  double inverse_diagonal[kBlockColumns];
  for (int b = 0; b < v.blocks(); ++b) {
    const int first = b * kBlockColumns;
    const int m = v.block_columns(b);
    for (int c = 0; c < b; ++c) {
      std::fill(tile.begin(), tile.end(), 0.0);
      for (int e = 0; e < m; ++e) {
        const double* row = l + (first + e) * ld + c * kBlockColumns;
        for (int f = 0; f < kBlockColumns; ++f) tile[f * kBlockColumns + e] = row[f];
      }
      kernels.subtract_product(tile.data(), kBlockColumns, v.block(c), m, v.block(b), v.panels());
    }
    for (int e = 0; e < m; ++e) inverse_diagonal[e] = 1 / l[(first + e) * ld + first + e];
    kernels.solve_panels(l + first * ld + first, ld, inverse_diagonal, m, v.block(b), v.panels());
  }
}

void AddOuter(double scale, const PackedRows& v, int n, double* c) {
  BANDANA_CHECK(n <= v.rows());
  for (int b = 0; b < v.blocks(); ++b) {
    ActiveKernels().add_outer(scale, v.block(b), n, v.block_columns(b), c, n);
  }
}

void SolveLower(const double* l, int n, double* y) {
  for (int i = 0; i < n; ++i) {
    const double* row = l + static_cast<std::size_t>(i) * n;
    for (int j = 0; j < i; ++j) y[i] -= row[j] * y[j];
    y[i] /= row[i];
  }
}

SemidefiniteFactor FactorSemidefinite(const std::vector<double>& p, int n) {
  const std::size_t size = n;
  BANDANA_CHECK(p.size() == size * size);
  constexpr double kDone = -std::numeric_limits<double>::infinity();
  std::vector<double> left(n);  // the diagonal of P - C C', kDone where it was the pivot
  double largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, left[i] = p[i * size + i]);
  const double tolerance = n * std::numeric_limits<double>::epsilon() * largest;

  std::vector<double> c(size * size, 0.0);
  int rank = 0;
  for (; rank < n; ++rank) {
    const int pivot = static_cast<int>(std::max_element(left.begin(), left.end()) - left.begin());
    if (!(left[pivot] > tolerance)) break;
    const double root = std::sqrt(left[pivot]);
    const double* pivot_row = c.data() + pivot * size;
    for (int i = 0; i < n; ++i) {
      if (i == pivot || left[i] == kDone) continue;
      double* row = c.data() + i * size;
      double sum = i > pivot ? p[i * size + pivot] : p[pivot * size + i];
      for (int j = 0; j < rank; ++j) sum -= row[j] * pivot_row[j];
      row[rank] = sum / root;
      left[i] -= row[rank] * row[rank];
    }
    c[pivot * size + rank] = root;
    left[pivot] = kDone;
  }

  SemidefiniteFactor factor;
  factor.rank = rank;
  factor.c.resize(size * rank);
  for (int i = 0; i < n; ++i)
    std::copy_n(c.data() + i * size, rank, factor.c.data() + i * static_cast<std::size_t>(rank));
  return factor;
}

void InvertInPlace(std::vector<double>& a, int n, double pivot_floor) {
  const std::size_t size = n;
  BANDANA_CHECK(a.size() == size * size);
  CholeskyInPlace(a.data(), n, pivot_floor);
  PackedRows v;
  v.Reshape(n, n);
  for (int i = 0; i < n; ++i) v.at(i, i) = 1;
  SolveTransposed(a.data(), n, v);
  std::fill(a.begin(), a.end(), 0.0);
  AddOuter(1, v, n, a.data());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) a[j * size + i] = a[i * size + j];
  }
}

}  // namespace bandana
