// The aliases of a server, as they lie in its data folder, or where servers share files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/design/alias.h"
#include "server/log/state/state_store.h"

namespace bandana::server {

using Aliases = std::map<std::string, AliasSpec, std::less<>>;  // by name

// Writes data_dir/aliases durably. Errors: UNAVAILABLE I/O, and then the file is as before.
absl::Status WriteAliases(const std::string& data_dir, const Aliases& aliases);
// None where there is no file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
absl::StatusOr<Aliases> ReadAliases(const std::string& data_dir);

// Not thread-safe.
class AliasStore {
 public:
  // `shared`: null: the file of `data_dir`. Where there are no shared ones yet, they begin with
  // those of the file.
  AliasStore(std::string data_dir, std::shared_ptr<SharedFiles> shared)
      : data_dir_(std::move(data_dir)), shared_(std::move(shared)) {}

  // Errors: as ReadAliases; UNAVAILABLE.
  absl::StatusOr<Aliases> Read();
  // In place of those that were read last, or written. Durable on return. Errors: ABORTED another
  // server has changed them since; UNAVAILABLE: they are as before, or perhaps already written.
  absl::Status Write(const Aliases& aliases);
  // Whether another server has changed them since. Cheap. Errors: UNAVAILABLE.
  absl::StatusOr<bool> Changed() const;

 private:
  const std::string data_dir_;
  const std::shared_ptr<SharedFiles> shared_;
  std::int64_t version_ = 0;  // of the shared ones that are known
};

}  // namespace bandana::server
