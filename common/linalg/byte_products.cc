#include "common/linalg/byte_products.h"

#include <vector>

namespace bandana {
namespace internal {
extern const ByteProductsKernel kByteProductsBaseline;
#if defined(__x86_64__)
extern const ByteProductsKernel kByteProductsAvx2;
#endif
}  // namespace internal

std::span<const ByteProductsKernel* const> SupportedByteProducts() {
  static const std::vector<const ByteProductsKernel*> supported = [] {
    std::vector<const ByteProductsKernel*> found = {&internal::kByteProductsBaseline};
#if defined(__x86_64__)
    // Tests for the features of the file's -m flags (CMakeLists.txt).
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      found.push_back(&internal::kByteProductsAvx2);
#endif
    return found;
  }();
  return supported;
}

const ByteProductsKernel& ByteProducts() {
  static const ByteProductsKernel& active = *SupportedByteProducts().back();
  return active;
}

}  // namespace bandana
