// Where randomness comes from. Shipped code seeds from SystemBits() alone; seeded sources live in
// tests/support and tools/environments, as types that the server and the SDK cannot link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace bandana {

// A stream of independent uniform bits.
class BitSource {
 public:
  virtual ~BitSource() = default;

  // Fills `out` with fresh uniform bytes.
  // Errors: UNAVAILABLE the generator failed; `out` must not be used.
  virtual absl::Status Fill(std::span<std::byte> out) = 0;

  // One 64-bit word of Fill.
  absl::StatusOr<std::uint64_t> NextWord();

  // `count` uniform bits, 1 to 64, in the low bits of the result. The base class spends a whole
  // word on them. A source that spends exactly `count` bits makes a sampler enumerable bit by bit.
  virtual absl::StatusOr<std::uint64_t> NextBits(int count);
};

// The operating system's generator through OpenSSL RAND_priv_bytes: seeded and reseeded by the
// system, fork-safe, fails closed. Threads: safe. Never destroyed.
BitSource& SystemBits();

// How a bounded loop of draws ends at its bound, which only a broken source meets: UNAVAILABLE.
absl::Status StuckEntropy();

// The source that SystemBits() returns in every program except bandana-audit. That program links a
// definition of its own in place of system_bits.cc, because the worlds that it compares must draw
// the same bits (tools/audit/transcript/audit_bits.cc).
BitSource& OpenSslSystemBits();

}  // namespace bandana
