// Where the ring of token keys is kept: a file of one machine, or a file that servers of a database
// share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/log/state/state_store.h"
#include "server/service/tokens/token_key_file.h"

namespace bandana::server {

// Threads: safe.
class KeyStore {
 public:
  virtual ~KeyStore() = default;

  // Another one whenever the keys may have changed. Cheap. Errors: NOT_FOUND there are none yet;
  // UNAVAILABLE.
  virtual absl::StatusOr<std::string> Stamp() const = 0;
  // Errors: those of ReadKeyFile, or of SharedFiles::Read.
  virtual absl::StatusOr<std::vector<StoredKey>> Read() const = 0;
  // Reads the keys, none where there are none yet, has them changed and writes them durably, alone
  // among all processes. `change` may be called again where another process was faster. Returns
  // what was written. Errors: as Read; UNAVAILABLE: perhaps it was written.
  struct Written {
    std::vector<StoredKey> keys;
    std::string stamp;
  };
  using ChangeKeys = absl::FunctionRef<absl::Status(std::vector<StoredKey>& keys)>;
  virtual absl::StatusOr<Written> Update(ChangeKeys change) = 0;
};

std::shared_ptr<KeyStore> KeysInFile(std::string path);

// Sealed, as a secret file. Where there are none yet, it begins with those of the file at `path`,
// if there is one: tokens that a server has given out before stay good.
std::shared_ptr<KeyStore> SharedKeys(std::shared_ptr<SharedFiles> files, std::string path);

}  // namespace bandana::server
