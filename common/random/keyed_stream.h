// Bits that a key and an address determine: the same noise wherever the same node is released
// again, other noise wherever anything differs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "common/random/bit_source.h"

namespace bandana {

// 256 secret bits. Has no operator<<, no comparison and no accessor outside this room; erased when
// destroyed and when moved from.
class NoiseKey {
 public:
  // Errors: UNAVAILABLE the source failed.
  static absl::StatusOr<NoiseKey> Generate(BitSource& bits);
  // A copy of key material that was stored; the caller erases its own. Errors: INVALID_ARGUMENT
  // unless 32 bytes.
  static absl::StatusOr<NoiseKey> FromBytes(std::span<const std::byte> bytes);

  NoiseKey(NoiseKey&& other) noexcept;
  NoiseKey& operator=(NoiseKey&& other) noexcept;
  NoiseKey(const NoiseKey&) = delete;
  NoiseKey& operator=(const NoiseKey&) = delete;
  ~NoiseKey();

 private:
  friend class KeyedStream;
  NoiseKey() = default;
  std::array<std::byte, 32> bytes_{};
};

// A digest of the data that a release is computed from. It binds the noise to the data: other data
// never meet the same noise, whatever made them differ. As secret as the data; for addresses alone.
class NoiseInput {
 public:
  explicit NoiseInput(const Sha256Digest& digest) : digest_(digest) {}
  // No data: for fingerprints of keys and seeded runs of the tools. Never for a release.
  static NoiseInput None() { return NoiseInput(); }

 private:
  friend class KeyedStream;
  NoiseInput() = default;
  std::optional<Sha256Digest> digest_;
};

// Names what a stream of noise is for. Two addresses that differ in any field give independent
// streams.
struct NoiseAddress {
  std::array<std::byte, 16> instance{};  // random id of the model, new on every create and restore
  std::uint64_t epoch = 0;
  Sha256Digest parameters{};  // hash of all parameters of the mechanism
  std::uint64_t stream = 0;   // which counter, user or use
  std::uint64_t node = 0;     // which release of it
  Sha256Digest history{};     // running hash of the log prefix that the node depends on
  NoiseInput input;           // the clipped data that the node is computed from; has no default
};

// ChaCha20 (RFC 8439 block function, 64-bit counter from 0) under a key made for one address, or a
// public seed. Deterministic: the bytes do not depend on how they are asked for, NextBits takes a
// whole word each time. Not thread-safe. Fails closed: UNAVAILABLE if OpenSSL fails, and after 2^60
// bytes.
class KeyedStream final : public BitSource {
 public:
  using PublicSeed = std::array<std::byte, 16>;

  // Noise: the ChaCha20 key is HMAC-SHA256(key, "bandana noise 2" || address), integers as 8 bytes
  // little-endian, every field of fixed length; with NoiseInput::None() "bandana noise 1" and the
  // fields before the input. Its security is that of HMAC as a PRF.
  static absl::StatusOr<KeyedStream> ForNode(const NoiseKey& key, const NoiseAddress& address);
  // Directions that anyone may recompute: the ChaCha20 key is SHA-256("bandana seed 1" || seed).
  static absl::StatusOr<KeyedStream> FromPublicSeed(const PublicSeed& seed);

  KeyedStream(KeyedStream&&) noexcept;
  KeyedStream& operator=(KeyedStream&&) noexcept;
  ~KeyedStream() override;

  absl::Status Fill(std::span<std::byte> out) override;

 private:
  struct Impl;
  static std::string Encode(const NoiseAddress& address);
  static absl::StatusOr<KeyedStream> Create(std::span<const std::byte, 32> chacha_key);
  explicit KeyedStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bandana
