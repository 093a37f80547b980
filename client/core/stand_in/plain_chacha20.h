// The ChaCha20 block function (RFC 8439) without a library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bandana::device {

// The keystream of a key: a counter of 64 bits from 0, a nonce of zeros. Not thread-safe.
class PlainChaCha20 {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  explicit PlainChaCha20(std::span<const std::byte, 32> key);
  ~PlainChaCha20();
  // The next block.
  std::array<std::byte, kBlockBytes> Next();

 private:
  std::array<std::uint32_t, 16> state_{};
};

}  // namespace bandana::device
