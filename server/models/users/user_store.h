// The durable users of one model. Only here the users' ids are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/log/state/row_table.h"

namespace bandana::server {

// Not thread-safe.
class UserStore {
 public:
  // Opens or makes it. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  static absl::StatusOr<UserStore> Open(const TablePlace& place);
  // In a SQLite file.
  static absl::StatusOr<UserStore> Open(const std::string& path);

  // `Take` takes users, with one value per group, empty for none; `Source` gives them.
  using Take = absl::FunctionRef<absl::Status(std::string_view id,
                                              std::span<const std::string_view> values)>;
  using Source = absl::FunctionRef<absl::Status(Take)>;

  // Every user, in the order of the ids' bytes. Errors: DATA_LOSS; those of `take`.
  absl::Status ForEach(Take take);
  // At most `limit` of those whose ids are greater than `after`, in the same order.
  absl::Status ForEachAfter(std::string_view after, std::size_t limit, Take take);
  // The one with this id, if there is one.
  absl::Status ForOne(std::string_view id, Take take);
  std::uint64_t size() const { return table_->size(); }

  // One transaction, durable on return: adds or replaces all users of `source`. Remembers the
  // digest of the file that they came from, and what the change does to keys. Returns how many were
  // added. Errors: as RowTable::Change.
  absl::StatusOr<std::uint64_t> Put(Source source, const Sha256Digest& file,
                                    const KeyChange& keys = {});
  // As above for users who go; those who are not there are no error. Returns how many went, of
  // whose bytes nothing is left where they stood: what stays is written anew.
  absl::StatusOr<std::uint64_t> Remove(std::span<const std::string_view> ids,
                                       const KeyChange& keys);
  // The last such digest, zero when there was none.
  const Sha256Digest& file() const { return table_->file(); }

  // For who follows users that another server changes: `take` gets those who were put since
  // `version`. Where what comes back is `whole`, there are no others. Errors: as ForEach.
  std::int64_t version() const { return table_->version(); }
  absl::StatusOr<RowsSince> ChangesSince(std::int64_t version, Take take);

  // For LeavingKeys.
  RowTable& table() { return *table_; }

 private:
  explicit UserStore(std::unique_ptr<RowTable> table) : table_(std::move(table)) {}

  std::unique_ptr<RowTable> table_;
};

}  // namespace bandana::server
