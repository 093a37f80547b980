// Who a user is to decision logs: a keyed pseudonym, the same in all models of a data folder.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/decisions/segment.h"

namespace bandana::server {

// 32 secret bytes. Without them nobody can tell whose a pseudonym is; whoever has them can try ids.
class PseudonymKey {
 public:
  static constexpr std::size_t kBytes = 32;
  explicit PseudonymKey(std::span<const std::byte, kBytes> bytes);
  ~PseudonymKey();
  PseudonymKey(const PseudonymKey&) = delete;
  PseudonymKey& operator=(const PseudonymKey&) = delete;

  // HMAC-SHA256 of the text, its first 16 bytes; never zeros. Errors: UNAVAILABLE the library
  // failed.
  absl::StatusOr<UserPseudonym> Of(std::string_view text) const;

 private:
  std::array<std::byte, kBytes> bytes_;
};

// A key that is in no file. Errors: UNAVAILABLE no randomness.
absl::StatusOr<std::shared_ptr<const PseudonymKey>> NewPseudonymKey();

// Reads data_dir/decision_key, or makes it (mode 0600) where it is missing. Errors:
// FAILED_PRECONDITION not a regular file, or its mode lets others in; DATA_LOSS damaged;
// UNAVAILABLE I/O or entropy.
absl::StatusOr<std::shared_ptr<const PseudonymKey>> OpenPseudonymKey(const std::string& data_dir);

}  // namespace bandana::server
