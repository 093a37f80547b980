#include <cmath>
#include <vector>

#include "common/mechanisms/counters/blt_tables.h"

namespace bandana {
namespace {

std::vector<double> ToReal(std::span<const std::int64_t> constants) {
  std::vector<double> out;
  for (const std::int64_t c : constants) {
    out.push_back(std::ldexp(static_cast<double>(c), -kBltConstantBits));
  }
  return out;
}

}  // namespace

const BltTable& BltTableFor(std::uint64_t horizon) {
  const std::span<const BltTable> tables = BltTables();
  for (const BltTable& table : tables) {
    if (table.design_horizon >= horizon) return table;
  }
  return tables.back();
}

Blt BltOf(const BltTable& table) {
  Blt blt;
  blt.decay = ToReal(table.decay);
  blt.weight = ToReal(table.weight);
  blt.inverse_decay = ToReal(table.inverse_decay);
  blt.inverse_weight = BltWeights(blt.inverse_decay, blt.decay);
  return blt;
}

}  // namespace bandana
