// The durable users of one model: a SQLite file beside the log, because no statistics depend on it
// and a large PutUsers must not hold up reports. Only here the users' ids are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/log/sqlite.h"
#include "server/models/users/user_rows.h"

namespace bandana::server {

// Not thread-safe.
class UserStore {
 public:
  // Opens or makes the file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  static absl::StatusOr<UserStore> Open(const std::string& path);

  // One value for each group, empty for none; in the order in which they were put.
  using Take = absl::FunctionRef<absl::Status(std::string_view id,
                                              std::span<const std::string_view> values)>;
  // Every user, in the order of the ids' bytes. Errors: DATA_LOSS, also where a user does not have
  // a place for each of `groups` groups; those of `take`.
  absl::Status ForEach(std::size_t groups, Take take);
  std::uint64_t size() const { return size_; }

  // One transaction, durable on return: adds or replaces. Returns how many were added. Errors:
  // RESOURCE_EXHAUSTED no space; UNAVAILABLE I/O; DATA_LOSS.
  absl::StatusOr<std::uint64_t> Put(UserRows& rows) { return Put(rows, file_); }
  // As Put, and remembers the digest of the file that the users came from.
  absl::StatusOr<std::uint64_t> Put(UserRows& rows, const Sha256Digest& file);
  // Digest of the last such file, zero when there was none.
  const Sha256Digest& file() const { return file_; }

 private:
  explicit UserStore(SqliteConnection connection) : connection_(std::move(connection)) {}
  absl::Status MakeTables();
  absl::StatusOr<std::uint64_t> PutRows(UserRows& rows);
  absl::Status PutState(std::uint64_t size, const Sha256Digest& file);

  SqliteConnection connection_;
  std::uint64_t size_ = 0;
  Sha256Digest file_{};
};

}  // namespace bandana::server
