// BANDANA_TARGET_CLONES before a function: compiled once for AVX2 and once without, chosen when the
// program starts (g++ on x86-64; elsewhere compiled once). Both give the same bits, because nothing
// is fused or reassociated. Not under sanitizers, which do not run yet when the choice is made.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(BANDANA_SANITIZED)
#define BANDANA_TARGET_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define BANDANA_TARGET_CLONES
#endif
