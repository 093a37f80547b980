// The ring of keys that decision tokens are sealed under: durable, shared between replicas,
// rotated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/aead.h"
#include "common/base/clock.h"
#include "server/service/tokens/key_store.h"

namespace bandana::server {

// One key of tokens. Not copyable.
struct TokenKey {
  TokenKey(AeadKey key, std::optional<AeadKey> of_answers)
      : secret(std::move(key)), answers(std::move(of_answers)) {}

  std::uint32_t id = 0;  // in clear in every token
  const AeadKey secret;
  // Derived from it: seals answers that are kept in a file. Nothing when OpenSSL failed.
  const std::optional<AeadKey> answers;
  absl::Time created;
  std::uint64_t serial = 0;  // unique in this process: what per-thread cipher caches go by
  mutable std::atomic<std::int64_t> seals_left{0};  // tokens this process may still seal with it
};

// Tokens sealed with one key over all processes stay below this. Random 96-bit nonces are safe up
// to 2^32 messages a key (NIST SP 800-38D section 8.3); half of it leaves room for what is reserved
// and not used.
inline constexpr std::uint64_t kSealsPerKeyMax = std::uint64_t{1} << 31;
// Seals a process reserves in the key file at a time, before it uses them.
inline constexpr std::uint64_t kSealsReserved = std::uint64_t{1} << 20;

// Threads: all methods are safe. Reading waits for nobody's work. One background thread reserves,
// rotates and follows the file.
//
// Invariants:
//   1. The key file has mode 0600 or tighter, and a shared one is sealed; it holds every key of the
//   ring before a token is
//      sealed with it.
//   2. The file's count of a key is at least the number of tokens ever sealed with it by any
//      process.
//   3. A new key is in the file for five seconds before it seals (unless it is the only one, or the
//      old one is used up), so that every replica can open what any of them seals.
//   4. A key opens tokens for at least rotation_interval after it was replaced. Two keys are valid
//      at a time, more only when the count made keys rotate early.
class TokenKeys {
 public:
  struct Options {
    std::string file;
    std::shared_ptr<KeyStore> store;                     // null: the file; else in place of it
    absl::Duration rotation_interval = absl::Hours(24);  // at least the longest token lifetime
    // How often the file is looked at; zero starts no thread, and the caller calls Maintain().
    absl::Duration poll_interval = absl::Seconds(1);
    std::uint64_t seals_per_key_max = kSealsPerKeyMax;
    std::uint64_t seals_reserved = kSealsReserved;
  };

  // Reads the file, or makes it with a fresh key. Errors: FAILED_PRECONDITION others may read the
  // file, or the key that seals it is missing; DATA_LOSS it does not parse; UNAVAILABLE I/O or
  // randomness.
  static absl::StatusOr<std::unique_ptr<TokenKeys>> Open(const Options& options,
                                                         const Clock& clock);
  ~TokenKeys();

  // The key to seal one token with; takes one off its reserve. Errors: UNAVAILABLE the reserve is
  // used up and could not be extended.
  absl::StatusOr<std::shared_ptr<const TokenKey>> TakeSealingKey();
  // The key of this id, or nullptr.
  std::shared_ptr<const TokenKey> Find(std::uint32_t id) const;
  // The key that seals at present, for what is derived from it: no token may be sealed with it.
  std::shared_ptr<const TokenKey> Present() const;

  // One round of upkeep: follow the file, rotate by age or count, drop what is too old, reserve.
  absl::Status Maintain();
  // Result of the last upkeep, for health and logs.
  absl::Status status() const;

 private:
  class Impl;
  explicit TokenKeys(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bandana::server
