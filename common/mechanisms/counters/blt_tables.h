// The decay rates and weights of the blt counters, as exact dyadic numbers, so that every machine
// encodes with the same C. Remade by research/tables.
#pragma once

#include <cstdint>
#include <span>

#include "common/mechanisms/counters/blt.h"

namespace bandana {

// Constants are integer multiples of 2^-52 below 1, which a double holds exactly.
inline constexpr int kBltConstantBits = 52;
inline constexpr int kBltBuffersMax = 6;

struct BltTable {
  std::uint64_t design_horizon;                 // steps for which the largest error is the least
  std::span<const std::int64_t> decay;          // 1 - theta_i
  std::span<const std::int64_t> weight;         // w_i
  std::span<const std::int64_t> inverse_decay;  // 1 - theta'_i; for predictions, not for encoding
};

// All tables, by ascending design horizon: 1e3, 1e4, 1e5, 1e6, 1e7.
std::span<const BltTable> BltTables();

// The first table with design_horizon >= horizon, or else the last. A longer stream stays private;
// its error grows beyond the design.
const BltTable& BltTableFor(std::uint64_t horizon);

// The factors with exactly the table's rates and weights. inverse_decay and inverse_weight agree
// with them up to the rounding of the table, 1e-8 relative.
Blt BltOf(const BltTable& table);

}  // namespace bandana
