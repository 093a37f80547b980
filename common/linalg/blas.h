// OpenBLAS and LAPACK on row-major matrices, one thread each. For symmetric.cc.
//
// A row-major matrix is the transpose of a column-major one, so the lower triangle is what LAPACK
// calls the upper one: nothing is ever transposed.
#pragma once

namespace bandana::internal {

// C += scale V' V on the lower triangle, for V of k x n and C of n x n.
void BlasAddOuter(double scale, const double* v, int k, int n, double* c);

// A = L L' in place. False when a pivot is not positive; the lower triangle is then lost.
bool BlasFactor(double* a, int n);

// Y <- L^-1 Y, for Y of n x columns.
void BlasSolveLower(const double* l, int n, double* y, int columns);

// y <- L'^-1 y for a vector.
void BlasSolveUpper(const double* l, int n, double* y);

// The lower triangle of (L L')^-1 in place of L.
void BlasInvertFactored(double* l, int n);

// C = A B for A of m x k, B of k x n.
void BlasMultiply(const double* a, const double* b, int m, int k, int n, double* c);

// B <- L B for lower L of n x n with `ld` columns in memory, B of n x columns.
void BlasMultiplyLower(const double* l, int ld, int n, double* b, int columns);

// out = K[:, first .. first + d) x for the symmetric K of n x n, of which the lower triangle is
// read.
void BlasBlockProduct(const double* k, int n, int first, const double* x, int d, double* out);

// P = C C' by LAPACK's pivoted factorization, stopped at a pivot of at most `tolerance`. `p` (full)
// becomes the factor L of the permuted matrix in its lower triangle, order[i] is the row of P that
// is row i of L. Returns the rank.
int BlasFactorPivoted(double* p, int n, double tolerance, int* order);

// The name of the processor whose kernels OpenBLAS uses here, as it names them.
const char* BlasCore();

}  // namespace bandana::internal
