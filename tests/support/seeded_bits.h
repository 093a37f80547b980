// Reproducible bits for tests: AES-256 in counter mode under a key made from the seed. Never for
// anything private.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/random/bit_source.h"

namespace bandana::testing {

// Equal seeds give equal streams of bytes. Threads: not safe.
class SeededBits final : public BitSource {
 public:
  explicit SeededBits(std::uint64_t seed);
  ~SeededBits() override;

  absl::Status Fill(std::span<std::byte> out) override;

 private:
  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
};

}  // namespace bandana::testing
