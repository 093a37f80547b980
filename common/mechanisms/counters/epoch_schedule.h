// The epochs of an `epochs` counter: where they end, and the factors that run over them.
#pragma once

#include <cstdint>

#include "common/mechanisms/counters/blt_tables.h"

namespace bandana {

// Ends are t_1 = 32 and t_(k+1) = t_k + max(1, round(t_k / 20)): growth by 1.05, in integers.
inline constexpr std::uint64_t kFirstEpochEnd = 32;
std::uint64_t NextEpochEnd(std::uint64_t end);

// How many epochs have ended by step t.
std::uint64_t EpochsEndedBy(std::uint64_t t);

// The rates that run over epochs instead of steps.
const BltTable& EpochTable();

}  // namespace bandana
