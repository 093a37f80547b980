// BANDANA_CHECK(condition): our own invariants, on in every build. A failed check is a bug of ours,
// never bad input; what comes from outside is answered with absl::Status.
#pragma once

namespace bandana::internal {
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace bandana::internal

#define BANDANA_CHECK(condition)                     \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::bandana::internal::CheckFailed(#condition, __FILE__, __LINE__))
