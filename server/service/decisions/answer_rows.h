// Rows of the file of named decisions: their bytes, and their seal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/service/decisions/answer_keys.h"
#include "server/service/decisions/decision_index.h"

namespace bandana::server {

// A row as it lies in the file.
struct SealedRow {
  std::int64_t number = 0;
  std::uint32_t key = 0;
  std::string bytes;  // nonce, ciphertext, tag; bound to the number
};
using OpenRow = std::pair<Sha256Digest, NamedAnswer>;  // by the digest of its name

// Under the key of the present. Errors: UNAVAILABLE no randomness, or OpenSSL failed.
absl::StatusOr<SealedRow> SealRow(const AnswerKeys& keys, std::int64_t number,
                                  const Sha256Digest& name, const NamedAnswer& answer);
// Nothing where its key is gone. Errors: DATA_LOSS.
absl::StatusOr<std::optional<OpenRow>> OpenSealedRow(const AnswerKeys& keys, SealedRow row);

// A row of format 1: in clear, closed by the first 8 bytes of SHA-256 over name and row. Who named
// it is not known. Errors: DATA_LOSS.
absl::StatusOr<OpenRow> ReadFormerRow(std::string_view name, std::string_view bytes);

}  // namespace bandana::server
