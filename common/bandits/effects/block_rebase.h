// A block's belief under another prior: what its events said stays, N(0, p I) becomes N(0, p2 I).
// Exact for the block by itself. Pure functions, in double inside, the same bits on every
// processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bandana {

// The block of p I - W W' whose `count` vectors have n floats each, with its mean, in place.
void RebaseVectors(float* mean, float* vectors, std::uint32_t count, std::size_t n, double p,
                   double p2);

// The block of packed rows (block_kernels.h), d x d, with its mean, in place.
void RebaseRows(float* mean, float* rows, std::size_t d, double p, double p2);

}  // namespace bandana
