// Which kernels OpenBLAS uses, and in how many threads.
//
// OpenBLAS looks at the processor when it is loaded. A release does not know the processors that
// came after it: 0.3.21 of Debian 12 takes kernels of 2004 ("Prescott") on Intel's of 2023, which
// are four to six times slower (measured: 2500 x 2500, 2026-11). Where that happened, it is told
// the newest name whose instructions this processor has, in the variable that it reads for this,
// and looks again. This runs before main, when there are no other threads.
#include <cblas.h>

#include <cstdlib>
#include <string_view>

#include "common/linalg/blas.h"

extern "C" {
char* openblas_get_corename(void);
// OpenBLAS's constructor calls the first of these; they are not in its header, and builds for one
// processor do not have them.
void gotoblas_dynamic_init(void) __attribute__((weak));
void gotoblas_dynamic_quit(void) __attribute__((weak));
}

namespace bandana::internal {
namespace {

constexpr char kVariable[] = "OPENBLAS_CORETYPE";

const char* NewestName() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

bool Prepare() {
  openblas_set_num_threads(1);
  if (std::getenv(kVariable) != nullptr || std::string_view(openblas_get_corename()) != "Prescott")
    return true;
  const char* name = NewestName();
  if (name == nullptr || gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr)
    return true;
  setenv(kVariable, name, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kVariable);
  return true;
}

[[maybe_unused]] const bool kPrepared = Prepare();

}  // namespace

const char* BlasCore() { return openblas_get_corename(); }

}  // namespace bandana::internal
