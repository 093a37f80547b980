// Matrices of a few rows, by Eigen: below kSmallRows a call of BLAS costs more than the work in it.
// For symmetric.cc. All as in blas.h.
#pragma once

namespace bandana::internal {

// Measured, 2026-11: at 4 rows Eigen takes 0.07 us for a factorization and LAPACK 0.08, at 16 rows
// 0.64 and 0.57, at 64 rows 19 and 17.
inline constexpr int kSmallRows = 8;

void SmallAddOuter(double scale, const double* v, int k, int n, double* c);
bool SmallFactor(double* a, int n);
void SmallSolveLower(const double* l, int n, double* y, int columns);

}  // namespace bandana::internal
