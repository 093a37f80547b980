// Broken reward randomizers that the statistical tests must reject, as laws over the outputs of a
// right one: their distance from it, and so the power against them, is known exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/random/bit_source.h"

namespace bandana::testing {

using Law = std::vector<double>;  // probabilities, one an output

// The law of integer masses.
Law LawOf(std::span<const std::uint64_t> masses);

// Mutant RatioFivePercentOff: the two-level outputs from `first` on (an input knot's law) with 1.05
// times the ratio of the high level to the low one; their total stays.
Law RatioFivePercentOff(const Law& right, std::size_t first);
// Mutant WindowOneCellOff: the outputs from `first` on moved one cell to the right, the last one to
// the front.
Law WindowOneCellOff(const Law& right, std::size_t first);
// Mutant ProbabilityRoundedUp: the largest probability rounded up to a multiple of 1/128 (as a
// table of bytes would), the rest scaled.
Law ProbabilityRoundedUp(const Law& right);
// Mutant NoClip: one bit for s = 1.5 outside [-1, 1], P(1) = 1/2 + s/(2c).
Law NoClip(double epsilon);

// Counts of n draws from the law.
std::vector<std::uint64_t> SampleCounts(const Law& law, std::uint64_t n, BitSource& bits);

}  // namespace bandana::testing
