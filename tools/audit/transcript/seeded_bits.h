// Randomness that two worlds of the transcript audit share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "common/random/bit_source.h"

namespace bandana::audit {

// Numbers that repeat with their seed; for schedules and for worlds that are compared, never for a
// release that somebody gets. Not thread-safe.
class WorldRandom {
 public:
  explicit WorldRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Word();  // SplitMix64
  // [0, n), n >= 1.
  int Below(int n) { return static_cast<int>(Word() % static_cast<std::uint64_t>(n)); }
  double Unit();  // [0, 1)
  double Between(double low, double high) { return low + (high - low) * Unit(); }
  bool Chance(double probability) { return Unit() < probability; }

 private:
  std::uint64_t state_;
};

// Bits under a seed, one stream for every size of request. A world in which a reaction comes seals
// one value more than the other: it asks for one nonce of 12 bytes more, and that must move no
// other draw. Nonces of sealers alone have this size, and nothing that is compared byte by byte
// holds one that a reaction moves. Not thread-safe.
class SeededBits final : public BitSource {
 public:
  explicit SeededBits(std::uint64_t seed) : seed_(seed) {}

  // UNAVAILABLE while `failing`.
  absl::Status Fill(std::span<std::byte> out) override;
  void set_failing(bool failing) { failing_ = failing; }

 private:
  const std::uint64_t seed_;
  bool failing_ = false;
  std::map<std::size_t, WorldRandom> streams_;  // by the request's size
};

// While it lives SystemBits() is `bits` on this thread, in a program that links audit_bits.cc.
class ThreadBits {
 public:
  explicit ThreadBits(BitSource* bits);
  ~ThreadBits();
  ThreadBits(const ThreadBits&) = delete;
  ThreadBits& operator=(const ThreadBits&) = delete;

  // Those of the thread, or nullptr.
  static BitSource* Current();

 private:
  BitSource* const before_;
};

}  // namespace bandana::audit
