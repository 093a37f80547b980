// Who a user is to decision logs: a keyed pseudonym, the same in all models of a data folder, or of
// a database.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/erased_text.h"
#include "common/decisions/segment.h"

struct evp_mac_ctx_st;  // OpenSSL's EVP_MAC_CTX

namespace bandana::server {

// 32 secret bytes. Threads: safe. Without them nobody can tell whose a pseudonym is; whoever has
// them can try ids.
class PseudonymKey {
 public:
  static constexpr std::size_t kBytes = 32;
  // Errors: UNAVAILABLE the library failed.
  static absl::StatusOr<std::shared_ptr<const PseudonymKey>> Make(
      std::span<const std::byte, kBytes> bytes);
  ~PseudonymKey();
  PseudonymKey(const PseudonymKey&) = delete;
  PseudonymKey& operator=(const PseudonymKey&) = delete;

  // HMAC-SHA256 of the text, its first 16 bytes; never zeros. 0.5 us, where HmacSha256 takes 2.7
  // us to set up (a shared core, 2026). Errors: UNAVAILABLE the library failed.
  absl::StatusOr<UserPseudonym> Of(std::string_view text) const;

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_mac_ctx_st, Free>;
  explicit PseudonymKey(Context context) : context_(std::move(context)) {}

  mutable std::mutex mutex_;
  const Context context_;  // has the key, and begins anew for each text
};

// A key that is in no file. Errors: UNAVAILABLE no randomness.
absl::StatusOr<std::shared_ptr<const PseudonymKey>> NewPseudonymKey();

// The text of a new key, for ParsePseudonymKey; to be kept secret. Errors: UNAVAILABLE no
// randomness.
absl::StatusOr<ErasedText> NewPseudonymKeyText();
// Errors: DATA_LOSS damaged, naming `where`.
absl::StatusOr<std::shared_ptr<const PseudonymKey>> ParsePseudonymKey(std::string_view text,
                                                                      const std::string& where);

// Reads data_dir/decision_key, or makes it (mode 0600) where it is missing. Errors:
// FAILED_PRECONDITION not a regular file, or its mode lets others in; DATA_LOSS damaged;
// UNAVAILABLE I/O or entropy.
absl::StatusOr<std::shared_ptr<const PseudonymKey>> OpenPseudonymKey(const std::string& data_dir);

}  // namespace bandana::server
