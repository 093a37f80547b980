// Cholesky factorizations of dense symmetric matrices and what is solved with them. All matrices
// are row-major; of symmetric ones only the lower triangle is read and written. Threads: pure
// functions.
#pragma once

#include <vector>

#include "common/linalg/packed_rows.h"

namespace bandana {

// A = L L', in place, for an n x n matrix that is known to satisfy A >= pivot_floor I (as A = floor
// I + G G' does), so that no pivot can be less in exact arithmetic. A pivot below half of it was
// lost to rounding: it becomes the floor, and its column, which then is rounding error as well,
// becomes zero. Returns how many pivots were so replaced. Cost: n^3 / 6 multiply-adds.
int CholeskyInPlace(double* a, int n, double pivot_floor);

// V <- V L^-T for the n x n factor L and V with n columns. Cost: rows n^2 / 2 multiply-adds.
void SolveTransposed(const double* l, int n, PackedRows& v);

// C += scale V V' for the upper `n` rows of V; C is n x n.
void AddOuter(double scale, const PackedRows& v, int n, double* c);

// y = L^-1 y for the n x n factor L.
void SolveLower(const double* l, int n, double* y);

// P = C C' for an n x n symmetric positive semidefinite matrix of any rank, by diagonal pivoting.
struct SemidefiniteFactor {
  int rank = 0;
  std::vector<double> c;  // n x rank, row-major
};
// Stops when what is left of every diagonal entry is at most n 2^-52 times the largest of P. Cost:
// n^2 rank / 2.
SemidefiniteFactor FactorSemidefinite(const std::vector<double>& p, int n);

// Replaces the SPD matrix A >= pivot_floor I (lower triangle given) by its inverse, stored in full.
void InvertInPlace(std::vector<double>& a, int n, double pivot_floor);

}  // namespace bandana
