#include "common/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace bandana::internal {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace bandana::internal
