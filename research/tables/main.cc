// bandana-tables: derives the constants of the continual counters and prints them as C++.
//   bandana-tables blt >common/mechanisms/counters/blt_tables.cc
//   bandana-tables epochs >common/mechanisms/counters/epoch_table.cc
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "common/mechanisms/counters/blt_tables.h"
#include "research/tables/blt_search.h"
#include "research/tables/epoch_search.h"

namespace bandana::tools {
namespace {

struct Design {
  std::uint64_t horizon;
  int buffers;
};

// One buffer more moves the largest error by less than 1 %.
constexpr Design kDesigns[] = {
    {1'000, 4}, {10'000, 5}, {100'000, 5}, {1'000'000, 5}, {10'000'000, 6}};

// A fourth buffer ends up cancelled: the weighted mean stays the same to seven digits.
constexpr int kEpochBuffers = 3;

void PrintConstants(const std::string& name, const std::vector<long double>& values) {
  std::printf("constexpr std::int64_t k%s[] = {", name.c_str());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s%lld", i == 0 ? "" : ", ",
                std::llround(std::ldexp(values[i], kBltConstantBits)));
  }
  std::printf("};\n");
}

// The values after rounding to the table's grid.
std::vector<long double> Rounded(const std::vector<long double>& values) {
  std::vector<long double> out;
  out.reserve(values.size());
  for (const long double v : values) {
    out.push_back(std::ldexp(std::round(std::ldexp(v, kBltConstantBits)), -kBltConstantBits));
  }
  return out;
}

void PrintRates(const BltRates& rates, const std::string& suffix) {
  const std::vector<long double> decay = Rounded(rates.decay);
  const std::vector<long double> inverse = Rounded(rates.inverse_decay);
  PrintConstants("Decay" + suffix, decay);
  PrintConstants("Weight" + suffix, WeightsOf(decay, inverse));
  PrintConstants("InverseDecay" + suffix, inverse);
  std::printf("\n");
}

void PrintEpochTable() {
  const BltRates rates = SearchEpochs(kEpochBuffers, {.restarts = 10, .iterations = 1500});
  std::printf(
      "// Generated: bandana-tables epochs >common/mechanisms/counters/epoch_table.cc && "
      "clang-format\n// -i common/mechanisms/counters/epoch_table.cc. Half a minute. Units of "
      "2^-%d.\n#include \"common/mechanisms/counters/epoch_schedule.h\"\n\nnamespace bandana "
      "{\nnamespace {\n\n// Weighted mean of V_t up to 2^30 steps: %.6Lf.\n",
      kBltConstantBits, rates.objective);
  PrintRates(rates, "");
  std::printf(
      "constexpr BltTable kTable = {std::uint64_t{1} << 30, kDecay, kWeight, kInverseDecay};\n\n"
      "}  // namespace\n\nconst BltTable& EpochTable() { return kTable; }\n\n"
      "}  // namespace bandana\n");
}

void PrintBltTables() {
  std::printf(
      "// Generated: bandana-tables blt >common/mechanisms/counters/blt_tables.cc && clang-format "
      "-i\n// common/mechanisms/counters/blt_tables.cc. A few minutes. Units of 2^-%d.\n"
      "#include \"common/mechanisms/counters/blt_tables.h\"\n\nnamespace bandana {\nnamespace "
      "{\n\n",
      kBltConstantBits);
  for (const Design& design : kDesigns) {
    const BltRates rates = SearchBlt(design.horizon, design.buffers, {});
    std::printf("// Largest V_t up to the design horizon: %.6Lf.\n", rates.objective);
    PrintRates(rates, std::to_string(design.horizon));
  }
  std::printf("constexpr BltTable kTables[] = {\n");
  for (const Design& design : kDesigns) {
    const unsigned long long n = design.horizon;
    std::printf("{%llu, kDecay%llu, kWeight%llu, kInverseDecay%llu},\n", n, n, n, n);
  }
  std::printf(
      "};\n\n}  // namespace\n\nstd::span<const BltTable> BltTables() { return kTables; }\n\n"
      "}  // namespace bandana\n");
}

}  // namespace
}  // namespace bandana::tools

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "blt") {
    bandana::tools::PrintBltTables();
    return 0;
  }
  if (what == "epochs") {
    bandana::tools::PrintEpochTable();
    return 0;
  }
  std::fprintf(stderr, "usage: bandana-tables blt|epochs\n");
  return 2;
}
