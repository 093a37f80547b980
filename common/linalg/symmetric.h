// Dense symmetric matrices and what is solved with them: by OpenBLAS and LAPACK, those of a few
// rows by Eigen (docs/adr/0017-dense-algebra-by-libraries.md).
//
// All matrices are row-major; of symmetric ones only the lower triangle is read and written. A tall
// matrix V is given by its transpose, k x n.
//
// Bits: the same input gives the same result on one machine, wherever it is in memory and in
// whatever thread. Another processor may round otherwise. So a result is never written to a log,
// hashed, or made the address of noise, but where it was computed once and stored (UserShape); what
// is added up for good, as NodeStatistics and increments are, is plain loops in a fixed order.
//
// Threads: pure functions; none starts a thread.
#pragma once

#include <cstddef>
#include <vector>

namespace bandana {

// C += scale V V', C of n x n, V' of k x n at `v`. Cost: k n^2 / 2 multiply-adds.
void AddOuter(double scale, const double* v, int k, int n, double* c);

// A = L L' in place. False when a pivot is less than half of `pivot_floor` >= 0, or NaN; the lower
// triangle is then lost. Cost: n^3 / 6 multiply-adds.
[[nodiscard]] bool Factor(double* a, int n, double pivot_floor);

// A = L L' in place, for an n x n matrix that is known to satisfy A >= pivot_floor I (as A = floor
// I + G G' does), so that no pivot can be less in exact arithmetic. A pivot below half of it was
// lost to rounding: it becomes the floor, and its column, which then is rounding error as well,
// becomes zero. Returns how many pivots were so replaced. The upper triangle is overwritten. Cost:
// as Factor; when a pivot was lost, n^3 / 6 scalar multiply-adds more.
int FactorWithFloor(double* a, int n, double pivot_floor);

// Y <- L^-1 Y for the n x n factor L and Y of n x columns. Cost: columns n^2 / 2 multiply-adds.
void SolveLower(const double* l, int n, double* y, int columns);

// y <- L'^-1 y for a vector of n entries.
void SolveUpper(const double* l, int n, double* y);

// The lower triangle of (L L')^-1 in place of the factor L. Cost: n^3 / 3 multiply-adds.
void InvertFactored(double* l, int n);

// The upper triangle becomes the lower one.
void MirrorLower(double* a, int n);

// Replaces the SPD matrix A >= pivot_floor I (lower triangle given) by its inverse, stored in full.
void InvertInPlace(std::vector<double>& a, int n, double pivot_floor);

// out = K[:, first .. first + d) x for the symmetric n x n matrix K and x of d entries.
void BlockProduct(const double* k, int n, int first, const double* x, int d, double* out);

// C = A B for A of m x k and B of k x n.
void Multiply(const double* a, const double* b, int m, int k, int n, double* c);

// B <- L B for the first n rows of a lower triangle L with `ld` columns, B of n x columns.
void MultiplyLower(const double* l, int ld, int n, double* b, int columns);

// P = C C' for an n x n symmetric positive semidefinite matrix of any rank.
struct SemidefiniteFactor {
  int rank = 0;
  bool triangular = false;  // C is n x n and a lower triangle
  std::vector<double> c;    // n x rank, row-major
};
// A triangle where every pivot is over 1e-8 times the largest diagonal entry. Otherwise by diagonal
// pivoting, stopped when what is left of every diagonal entry is at most n 2^-52 times the largest.
// P is given in full. Cost: n^2 rank / 2.
SemidefiniteFactor FactorSemidefinite(const std::vector<double>& p, int n);

// The kernels that OpenBLAS chose for this processor, by its name; for benchmarks' labels.
const char* AlgebraKernels();

}  // namespace bandana
