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
#include "server/models/freeing/leaving_keys.h"

namespace bandana::server {

// Not thread-safe.
class UserStore {
 public:
  // Opens or makes the file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  static absl::StatusOr<UserStore> Open(const std::string& path);

  // What takes users, with one value per group, empty for none; and what gives them.
  using Take = absl::FunctionRef<absl::Status(std::string_view id,
                                              std::span<const std::string_view> values)>;
  using Source = absl::FunctionRef<absl::Status(Take)>;

  // Every user, in the order of the ids' bytes. Errors: DATA_LOSS; those of `take`.
  absl::Status ForEach(Take take);
  // At most `limit` of those whose ids are greater than `after`, in the same order.
  absl::Status ForEachAfter(std::string_view after, std::size_t limit, Take take);
  // The one with this id, if there is one.
  absl::Status ForOne(std::string_view id, Take take);
  std::uint64_t size() const { return size_; }

  // One transaction, durable on return: adds or replaces all users of `source`. Remembers the
  // digest of the file that they came from, and what the change does to keys. Returns how many were
  // added. Errors: RESOURCE_EXHAUSTED no space; UNAVAILABLE I/O; DATA_LOSS; those of `source`.
  absl::StatusOr<std::uint64_t> Put(Source source, const Sha256Digest& file,
                                    const KeyChange& keys = {});
  // The same for users who go; those who are not there are no error. Returns how many went, of
  // whose bytes nothing is left in the file: what stays moves to fresh pages.
  absl::StatusOr<std::uint64_t> Remove(std::span<const std::string_view> ids,
                                       const KeyChange& keys);
  // The last such digest, zero when there was none.
  const Sha256Digest& file() const { return file_; }
  // For LeavingKeys.
  SqliteConnection& connection() { return connection_; }

 private:
  explicit UserStore(SqliteConnection connection) : connection_(std::move(connection)) {}
  absl::Status MakeTables();
  // `body` tells by how many users there are more than before.
  template <typename Body>
  absl::StatusOr<std::int64_t> Transaction(const Sha256Digest& file, const KeyChange& keys,
                                           const Body& body);
  absl::StatusOr<std::int64_t> PutRows(Source source);
  absl::StatusOr<std::int64_t> RemoveRows(std::span<const std::string_view> ids);
  absl::Status ForRows(SqliteStatement& rows, Take take);
  absl::Status PutState(std::uint64_t size, const Sha256Digest& file);

  SqliteConnection connection_;
  std::uint64_t size_ = 0;
  Sha256Digest file_{};
};

}  // namespace bandana::server
