// x' K x of many arms at once: the hot loop of Select. Of our own, because it does a third more in
// the same time than BLAS, and more than Eigen, for 25 arms of 25 features (0.84 us against 1.13
// and 3.3: bench/bandits_benchmark.cc, 2026-11), and because neither promises the same bits
// wherever an arm stands.
//
// Each variant is the same source (quadratic_forms.inc) in its own translation unit with its own -m
// flags. It includes no header with inline functions, so the linker can never take a routine that
// needs AVX for the whole program; and unlike compiler-generated dispatch, every variant can be
// called by tests and benchmarks. None is wider than 256 bits: where 512-bit arithmetic lowers the
// clock of a core, all that runs on it in the next millisecond pays.
#pragma once

#include <span>

namespace bandana {

// The rows x_e of k events, a ridge and X X' + ridge I = L L' stand for
//   K = scale (I - X' (X X' + ridge I)^-1 X),   m = X' weights.
struct FewEvents {
  int count = 0;                    // k <= kDimensionMax
  double scale = 0;                 // of the prior, tau^2
  const double* rows = nullptr;     // k x d
  const double* inverse = nullptr;  // L^-1, lower triangle row by row
  const double* weights = nullptr;  // k
};

struct QuadraticFormsKernel {
  const char* name;

  // means[a] = x_a . mean and squares[a] = x_a' K x_a for n arms of d features each, x_a at
  // arms[a], K row-major d x d, of which the lower triangle is read, d <= kDimensionMax. An arm's
  // results do not depend on its position or on the other arms. Threads: a pure function.
  void (*compute)(const double* matrix, const double* mean, int d, const double* const* arms, int n,
                  double* means, double* squares);

  // As above with the lower triangle of K packed: row by row, d (d + 1) / 2 entries.
  void (*compute_packed)(const double* packed, const double* mean, int d, const double* const* arms,
                         int n, double* means, double* squares);

  // As above for K and m of few events: k d + k^2 / 2 + d multiply-adds an arm.
  void (*compute_few)(const FewEvents& few, int d, const double* const* arms, int n, double* means,
                      double* squares);
};

// The widest variant that this CPU and operating system support. Chosen once.
const QuadraticFormsKernel& QuadraticForms();

// Every variant that runs on this machine, narrowest first; the first is plain x86-64 (or whatever
// the target is).
std::span<const QuadraticFormsKernel* const> SupportedQuadraticForms();

}  // namespace bandana
