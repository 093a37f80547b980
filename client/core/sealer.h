// The hook that seals private columns: AES-256-GCM by the host.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/core/callback.h"

namespace bandana::device {

// Bytes open for the row and in the store for which they were sealed, and nowhere else. Sealing
// takes a fresh nonce each time. Threads: not thread-safe.
class Sealer {
 public:
  virtual ~Sealer() = default;

  // Errors: UNAVAILABLE entropy or the cipher failed.
  virtual absl::StatusOr<std::string> Seal(std::string_view row, std::string_view plain) = 0;
  // Errors: DATA_LOSS changed bytes, of another row, or of another store.
  virtual absl::StatusOr<std::string> Open(std::string_view row, std::string_view stored) = 0;
};

// `identity`: of the store, 16 bytes.
using MakeSealer = Callback<absl::StatusOr<std::unique_ptr<Sealer>>(std::string_view identity)>;

}  // namespace bandana::device
