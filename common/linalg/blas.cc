#include "common/linalg/blas.h"

#include <cblas.h>
#include <lapacke.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "common/base/check.h"

extern "C" int openblas_get_parallel(void);

namespace bandana::internal {
namespace {

// A build without threads (Debian's libopenblas0-serial) hands the same buffer to two callers at
// once: their results are then garbage (measured on 0.3.21, 2026-11: up to 4 in 100 of calls from
// eight threads). There one call runs at a time in the whole process.
class Turn {
 public:
  Turn() : lock_(mutex_, std::defer_lock) {
    static const bool sequential = openblas_get_parallel() == 0;
    if (sequential) lock_.lock();
  }

 private:
  static inline std::mutex mutex_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace

void BlasAddOuter(double scale, const double* v, int k, int n, double* c) {
  const Turn turn;
  if (k == 1) {
    cblas_dsyr(CblasRowMajor, CblasLower, n, scale, v, 1, c, n);
  } else {
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, n, k, scale, v, n, 1, c, n);
  }
}

bool BlasFactor(double* a, int n) {
  const Turn turn;
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n) == 0;
}

void BlasSolveLower(const double* l, int n, double* y, int columns) {
  const Turn turn;
  if (columns == 1) {
    cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, l, n, y, 1);
  } else {
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, columns, 1, l,
                n, y, columns);
  }
}

void BlasSolveUpper(const double* l, int n, double* y) {
  const Turn turn;
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, l, n, y, 1);
}

void BlasInvertFactored(double* l, int n) {
  const Turn turn;
  BANDANA_CHECK(LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', n, l, n) == 0);
}

void BlasMultiply(const double* a, const double* b, int m, int k, int n, double* c) {
  const Turn turn;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
}

void BlasMultiplyLower(const double* l, int ld, int n, double* b, int columns) {
  const Turn turn;
  cblas_dtrmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, columns, 1, l,
              ld, b, columns);
}

void BlasBlockProduct(const double* k, int n, int first, const double* x, int d, double* out) {
  const Turn turn;
  const std::size_t ld = n;
  const double* block = k + first * ld;
  const int after = first + d;
  if (first > 0) cblas_dgemv(CblasRowMajor, CblasTrans, d, first, 1, block, n, x, 1, 0, out, 1);
  cblas_dsymv(CblasRowMajor, CblasLower, d, 1, block + first, n, x, 1, 0, out + first, 1);
  if (after < n) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n - after, d, 1, k + after * ld + first, n, x, 1, 0,
                out + after, 1);
  }
}

int BlasFactorPivoted(double* p, int n, double tolerance, int* order) {
  const Turn turn;
  std::vector<lapack_int> pivots(n);
  std::vector<double> work(2 * static_cast<std::size_t>(n));
  lapack_int rank = 0;
  // 1: the rank is less than n.
  const lapack_int info = LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'U', n, p, n, pivots.data(), &rank,
                                              tolerance, work.data());
  BANDANA_CHECK(info >= 0);
  for (int i = 0; i < n; ++i) order[i] = pivots[i] - 1;
  return rank;
}

}  // namespace bandana::internal
