#include "client/core/stand_in/plain_chacha20.h"

#include <string.h>

#include <bit>
#include <cstring>

namespace bandana::device {
namespace {

using State = std::array<std::uint32_t, 16>;

void QuarterRound(State& x, int a, int b, int c, int d) {
  x[a] += x[b];
  x[d] = std::rotl(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = std::rotl(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = std::rotl(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = std::rotl(x[b] ^ x[c], 7);
}

}  // namespace

PlainChaCha20::PlainChaCha20(std::span<const std::byte, 32> key) {
  static_assert(std::endian::native == std::endian::little);
  constexpr char kConstants[] = "expand 32-byte k";
  std::memcpy(state_.data(), kConstants, 16);
  std::memcpy(state_.data() + 4, key.data(), key.size());
}

PlainChaCha20::~PlainChaCha20() { explicit_bzero(state_.data(), sizeof state_); }

std::array<std::byte, PlainChaCha20::kBlockBytes> PlainChaCha20::Next() {
  State x = state_;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) QuarterRound(x, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i)
      QuarterRound(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += state_[i];
  if (++state_[12] == 0) ++state_[13];
  std::array<std::byte, kBlockBytes> block;
  std::memcpy(block.data(), x.data(), block.size());
  explicit_bzero(x.data(), sizeof x);
  return block;
}

}  // namespace bandana::device
