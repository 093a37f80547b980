// The key that seals the private columns of a device store: the application's, or else the store's
// own in a file beside it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/core/secret_bytes.h"
#include "client/src/store/sqlite.h"

namespace bandana::device {

// Formats 2 and 3 of the file. Format 2 had no key of its own: without the application's, private
// columns stood in clear.
struct StoreKeys {
  SecretBytes key;
  bool former = false;         // the file is of format 2
  bool former_sealed = false;  // and sealed by the same key
};

inline std::string StoreKeyPath(const std::string& store_path) { return store_path + ".key"; }

// The keys of the open file at `path`. Makes the store's own key, durably, where the file is new or
// of format 2 and `application_key` is empty. Errors: FAILED_PRECONDITION the file was made with
// another choice, or its key file is gone; INVALID_ARGUMENT the key's length; UNAVAILABLE I/O,
// entropy.
absl::StatusOr<StoreKeys> KeysOf(Database& database, const std::string& path,
                                 std::string_view application_key);
// The keys of a store in memory.
absl::StatusOr<StoreKeys> KeysInMemory();

}  // namespace bandana::device
