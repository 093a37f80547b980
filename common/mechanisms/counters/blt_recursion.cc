#include "common/mechanisms/counters/blt_recursion.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace bandana {

// PROOF: counters begin
BltRecursion::BltRecursion(const BltTable& table, int buffer_bits, __int128 input_max)
    : table_(&table), blt_(BltOf(table)), buffer_bits_(buffer_bits) {
  // |w buf| summed is the largest: gain (input_max 2^bits + 1) 2^52. An output leaves as 64 bits.
  const double input = std::ldexp(static_cast<double>(input_max), buffer_bits) + 1;
  BANDANA_CHECK(std::ldexp((Gain() + 1) * input, kBltConstantBits) < 0x1p125);
  BANDANA_CHECK(std::ldexp((Gain() + 1) * input, -buffer_bits) < 0x1p62);
}

double BltRecursion::Gain() const {
  double gain = 0;
  for (std::size_t i = 0; i < buffers(); ++i) gain += blt_.weight[i] / blt_.decay[i];
  return gain;
}

double BltRecursion::RoundingPerOutput() const { return 1 + std::ldexp(Gain(), -buffer_bits_); }

// |buf| <= theta |buf| + 1 + max 2^bits gives |buf| <= (max 2^bits + 1) / (1 - theta).
__int128 BltRecursion::BufferMax(std::size_t index, __int128 input_max) const {
  const __int128 input = (input_max << buffer_bits_) + 1;
  return (input << kBltConstantBits) / table_->decay[index] + 1;
}

std::int64_t BltRecursion::Encode(std::int64_t input, std::size_t c, std::size_t dimension,
                                  std::span<__int128> sums) const {
  const int output_bits = buffer_bits_ + kBltConstantBits;
  const __int128 wide = input;
  __int128 output = (wide << output_bits) + (static_cast<__int128>(1) << (output_bits - 1));
  for (std::size_t i = 0; i < buffers(); ++i) {
    __int128& buffer = sums[i * dimension + c];
    output += table_->weight[i] * buffer;
    // buffer <- theta buffer + input, theta = 1 - decay, rounded down to 2^-bits grid steps.
    buffer += (wide << buffer_bits_) - ((table_->decay[i] * buffer) >> kBltConstantBits);
  }
  return static_cast<std::int64_t>(output >> output_bits);
}
// PROOF: counters end

double BltRecursion::Decode(double output, std::size_t c, std::size_t dimension,
                            std::span<double> buffers) const {
  double u = output;
  for (std::size_t i = 0; i < this->buffers(); ++i)
    u -= blt_.weight[i] * buffers[i * dimension + c];
  for (std::size_t i = 0; i < this->buffers(); ++i) {
    double& buffer = buffers[i * dimension + c];
    buffer = (1 - blt_.decay[i]) * buffer + u;
  }
  return u;
}

std::string BltRecursion::Describe() const {
  std::string text = absl::StrCat("bits=", buffer_bits_, ",", kBltConstantBits);
  const char* separator = ";decay=";
  for (const auto decay : table_->decay) text += absl::StrCat(std::exchange(separator, ","), decay);
  separator = ";weight=";
  for (const auto weight : table_->weight) {
    text += absl::StrCat(std::exchange(separator, ","), weight);
  }
  return text;
}

}  // namespace bandana
