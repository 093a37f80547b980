#include "common/linalg/quadratic_forms.h"

#include <vector>

namespace bandana {
namespace internal {
extern const QuadraticFormsKernel kQuadraticFormsBaseline;
#if defined(__x86_64__)
extern const QuadraticFormsKernel kQuadraticFormsAvx2;
#endif
}  // namespace internal

std::span<const QuadraticFormsKernel* const> SupportedQuadraticForms() {
  static const std::vector<const QuadraticFormsKernel*> supported = [] {
    std::vector<const QuadraticFormsKernel*> found = {&internal::kQuadraticFormsBaseline};
#if defined(__x86_64__)
    // Tests for the features of the file's -m flags (CMakeLists.txt).
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      found.push_back(&internal::kQuadraticFormsAvx2);
#endif
    return found;
  }();
  return supported;
}

const QuadraticFormsKernel& QuadraticForms() {
  static const QuadraticFormsKernel& active = *SupportedQuadraticForms().back();
  return active;
}

}  // namespace bandana
