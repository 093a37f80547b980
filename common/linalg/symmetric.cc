#include "common/linalg/symmetric.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/linalg/blas.h"

namespace bandana {
namespace {

// Matrices of a few rows go by Eigen: below kSmallRows a call of BLAS costs more than the work in
// it. Measured, 2026-11: at 4 rows Eigen takes 0.07 us for a factorization and LAPACK 0.08, at 16
// rows 0.64 and 0.57, at 64 rows 19 and 17.
constexpr int kSmallRows = 8;

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const RowMajor>;
using Map = Eigen::Map<RowMajor>;

void SmallAddOuter(double scale, const double* v, int k, int n, double* c) {
  Map matrix(c, n, n);
  if (k == 1) {
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(Eigen::Map<const Eigen::VectorXd>(v, n),
                                                      scale);
  } else {
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(ConstMap(v, k, n).transpose(), scale);
  }
}

bool SmallFactor(double* a, int n) {
  Map matrix(a, n, n);
  Eigen::Ref<RowMajor> in_place(matrix);
  return Eigen::LLT<Eigen::Ref<RowMajor>>(in_place).info() == Eigen::Success;
}

void SmallSolveLower(const double* l, int n, double* y, int columns) {
  Map right(y, n, columns);
  ConstMap(l, n, n).triangularView<Eigen::Lower>().solveInPlace(right);
}

constexpr double kTrianglePivotMin = 1e-8;  // of FactorSemidefinite

bool FactorAsGiven(double* a, int n) {
  return n <= kSmallRows ? SmallFactor(a, n) : internal::BlasFactor(a, n);
}

// copy(lower, upper) for every pair of entries, by blocks that stay in the cache.
template <typename Copy>
void ForEachPair(double* a, int n, Copy copy) {
  constexpr int kBlock = 32;
  const std::size_t ld = n;
  for (int row = 0; row < n; row += kBlock) {
    for (int column = row; column < n; column += kBlock) {
      for (int i = row; i < std::min(row + kBlock, n); ++i) {
        for (int j = std::max(i + 1, column); j < std::min(column + kBlock, n); ++j)
          copy(a[j * ld + i], a[i * ld + j]);
      }
    }
  }
}

// The factorization with replaced pivots, row by row.
int FactorByRows(double* a, int n, double pivot_floor) {
  const std::size_t ld = n;
  std::vector<double> inverse(n);  // 1 / L_jj, 0 where the pivot was replaced
  int replaced = 0;
  for (int i = 0; i < n; ++i) {
    double* row = a + i * ld;
    double pivot = row[i];
    for (int j = 0; j < i; ++j) {
      const double* other = a + j * ld;
      double sum = row[j];
      for (int l = 0; l < j; ++l) sum -= row[l] * other[l];
      row[j] = sum * inverse[j];
      pivot -= row[j] * row[j];
    }
    const bool kept = pivot >= 0.5 * pivot_floor;
    row[i] = std::sqrt(kept ? pivot : pivot_floor);
    inverse[i] = kept ? 1 / row[i] : 0;
    replaced += kept ? 0 : 1;
  }
  return replaced;
}

}  // namespace

void AddOuter(double scale, const double* v, int k, int n, double* c) {
  if (n <= kSmallRows) {
    SmallAddOuter(scale, v, k, n, c);
  } else {
    internal::BlasAddOuter(scale, v, k, n, c);
  }
}

bool Factor(double* a, int n, double pivot_floor) {
  if (!FactorAsGiven(a, n)) return false;
  const double root_min = std::sqrt(0.5 * pivot_floor);
  for (int i = 0; i < n; ++i) {
    if (!(a[i * static_cast<std::size_t>(n) + i] >= root_min)) return false;
  }
  return true;
}

int FactorWithFloor(double* a, int n, double pivot_floor) {
  const std::size_t ld = n;
  std::vector<double> diagonal(n);
  for (int i = 0; i < n; ++i) diagonal[i] = a[i * ld + i];
  MirrorLower(a, n);
  if (Factor(a, n, pivot_floor)) return 0;
  ForEachPair(a, n, [](double& lower, double upper) { lower = upper; });
  for (int i = 0; i < n; ++i) a[i * ld + i] = diagonal[i];
  return FactorByRows(a, n, pivot_floor);
}

void SolveLower(const double* l, int n, double* y, int columns) {
  if (n <= kSmallRows) {
    SmallSolveLower(l, n, y, columns);
  } else {
    internal::BlasSolveLower(l, n, y, columns);
  }
}

void SolveUpper(const double* l, int n, double* y) { internal::BlasSolveUpper(l, n, y); }

void InvertFactored(double* l, int n) { internal::BlasInvertFactored(l, n); }

void MirrorLower(double* a, int n) {
  ForEachPair(a, n, [](double lower, double& upper) { upper = lower; });
}

void InvertInPlace(std::vector<double>& a, int n, double pivot_floor) {
  BANDANA_CHECK(a.size() == static_cast<std::size_t>(n) * n);
  FactorWithFloor(a.data(), n, pivot_floor);
  InvertFactored(a.data(), n);
  MirrorLower(a.data(), n);
}

void BlockProduct(const double* k, int n, int first, const double* x, int d, double* out) {
  internal::BlasBlockProduct(k, n, first, x, d, out);
}

void Multiply(const double* a, const double* b, int m, int k, int n, double* c) {
  internal::BlasMultiply(a, b, m, k, n, c);
}

void MultiplyLower(const double* l, int ld, int n, double* b, int columns) {
  internal::BlasMultiplyLower(l, ld, n, b, columns);
}

SemidefiniteFactor FactorSemidefinite(const std::vector<double>& p, int n) {
  const std::size_t size = n;
  BANDANA_CHECK(p.size() == size * size);
  double largest = 0;
  for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, p[i * size + i]);
  SemidefiniteFactor factor;
  factor.c = p;
  if (largest > 0 && Factor(factor.c.data(), n, 2 * kTrianglePivotMin * largest)) {
    factor.rank = n;
    factor.triangular = true;
    for (std::size_t i = 0; i < size; ++i)
      std::fill_n(factor.c.data() + i * size + i + 1, size - i - 1, 0.0);
    return factor;
  }

  std::vector<double> l = p;
  std::vector<int> order(size);  // row i of L is row order[i] of C
  factor.rank = internal::BlasFactorPivoted(
      l.data(), n, n * std::numeric_limits<double>::epsilon() * largest, order.data());
  const std::size_t rank = factor.rank;
  factor.c.assign(size * rank, 0.0);
  for (std::size_t i = 0; i < size; ++i) {
    std::copy_n(l.data() + i * size, std::min(i + 1, rank), factor.c.data() + order[i] * rank);
  }
  return factor;
}

const char* AlgebraKernels() { return internal::BlasCore(); }

}  // namespace bandana
