// Decision tokens: what Select gives out and Report and Submit bring back, sealed with AES-256-GCM.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/limits.h"
#include "server/service/tokens/asked_decision.h"
#include "server/service/tokens/token_keys.h"

namespace bandana::server {

// Longest token: 33 bytes of framing, below 384 bytes of names and numbers, kSealedRanksMax arms of
// 8 + 16 bytes and kKeyPartsMax keys, kRankedFeaturesMax features of theirs.
inline constexpr std::size_t kTokenBytesMax =
    33 + 384 + 8 * (std::size_t{kSealedRanksMax} * (3 + kKeyPartsMax) + kRankedFeaturesMax);

// Layout: version (1 byte), key id (4, little endian), nonce (12, random), ciphertext, tag (16).
// Version and key id are authenticated too. Threads: all methods are safe; ciphers are kept per
// thread.
class TokenCodec {
 public:
  // `keys` must outlive the codec.
  explicit TokenCodec(TokenKeys& keys) : keys_(keys) {}

  // Replaces `token`. `asked`: null where the model was asked by its own name. `ranks`: 0, or the
  // token takes the size of one of so many arms, which must fit into a token. 0.36 us at d = 25
  // (Zen 4, 2026). Errors: UNAVAILABLE no key or no randomness.
  absl::Status Seal(const Decision& decision, const AskedAlias* asked, std::size_t ranks,
                    std::string& token);
  absl::Status Seal(const Decision& decision, std::string& token) {
    return Seal(decision, nullptr, 0, token);
  }

  // Total: any bytes give a decision that some replica sealed, or INVALID_ARGUMENT, which does not
  // say what was wrong with them. The decision's shape is checked: 1 to kSealedRanksMax arms of
  // equal dimension in [1, kSparseDimensionMax], kRankedFeaturesMax features in all, finite
  // numbers, propensities in [0, 1]. Whether it belongs to the model, and is in time, is the
  // caller's question.
  absl::StatusOr<AskedDecision> Open(std::string_view token);

 private:
  TokenKeys& keys_;
};

}  // namespace bandana::server
