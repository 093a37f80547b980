// Exact output distributions of a sampler: it is driven by every bit string up to a depth.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "absl/status/statusor.h"
#include "common/random/bit_source.h"

namespace bandana::testing {

struct Enumeration {
  // Outcome -> mass in units of 2^-depth_bits.
  std::map<std::int64_t, std::uint64_t> masses;
  // Mass of the strings after which the sampler still asked for more.
  std::uint64_t undecided = 0;
  int depth_bits = 0;
};

// Runs `sampler` on every sequence of words below 2^bits_per_word, to at most `words` words. Exact
// for samplers that look at no more than the low bits_per_word bits of a word. bits_per_word *
// words <= 30. `sampler` must hand on the errors of its source.
Enumeration Enumerate(int bits_per_word, int words,
                      const std::function<absl::StatusOr<std::int64_t>(BitSource&)>& sampler);

// Runs `sampler` on every bit string to `depth` bits, 1 to 30: NextBits(n) spends exactly n of
// them. For samplers that draw by NextBits alone. `sampler` must hand on the errors of its source.
Enumeration EnumerateBits(int depth,
                          const std::function<absl::StatusOr<std::int64_t>(BitSource&)>& sampler);

// True if `probability` of `outcome` is possible: within [mass, mass + undecided] 2^-depth.
bool Allows(const Enumeration& law, std::int64_t outcome, double probability);

}  // namespace bandana::testing
