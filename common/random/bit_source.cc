#include "common/random/bit_source.h"

#include <string.h>

#include <array>
#include <cstring>

#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::uint64_t> BitSource::NextWord() {
  std::array<std::byte, sizeof(std::uint64_t)> bytes;
  BANDANA_RETURN_IF_ERROR(Fill(bytes));
  std::uint64_t word;
  std::memcpy(&word, bytes.data(), sizeof(word));
  explicit_bzero(bytes.data(), bytes.size());
  return word;
}

absl::StatusOr<std::uint64_t> BitSource::NextBits(int count) {
  BANDANA_CHECK(1 <= count && count <= 64);
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t word, NextWord());
  return word & (~std::uint64_t{0} >> (64 - count));
}

absl::Status StuckEntropy() { return Unavailable("entropy: the generator is stuck"); }

}  // namespace bandana
