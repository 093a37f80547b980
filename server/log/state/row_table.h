// Rows by key that change together and are durable on return: the arms or the users of one model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/sha256.h"

namespace bandana::server {

// The effect of a change of arms or users on the keys of their effects (EffectKey), and its time.
struct KeyChange {
  std::vector<std::uint64_t> returned;  // somebody has them again
  std::vector<std::uint64_t> left;      // nobody has them any more
  absl::Time now;
};

// A key that nobody has since a time.
struct LeftKey {
  std::uint64_t key = 0;
  absl::Time since;
};

using RowVisit = absl::FunctionRef<absl::Status(std::string_view key, std::string_view value)>;
// Gives rows, any number of times the same. Errors: those of `take`, and its own.
using RowSource = absl::FunctionRef<absl::Status(RowVisit take)>;

// One transaction.
struct RowChange {
  std::optional<RowSource> put;               // added, or replaced
  std::span<const std::string_view> removed;  // keys; one that is not there is no error
  // Nothing is left of the bytes of removed rows when the change returns (archives of a database
  // apart: docs/operations/servers.md). Costs a copy of the rows that stay.
  bool erase = false;
  std::optional<Sha256Digest> file;  // replaces file()
  int format = 1;                    // of the values; a table keeps the greatest it was told
  KeyChange keys;
};
struct RowsChanged {
  std::uint64_t added = 0;
  std::uint64_t removed = 0;
};

// The changes of a table since a version.
struct RowsSince {
  std::int64_t version = 0;  // of the table now
  // Rows have been removed since, or nobody knows: what was visited is all that there is.
  bool whole = false;
};

// Not thread-safe. One object changes a table at a time: it knows its size and file without a look.
class RowTable {
 public:
  virtual ~RowTable() = default;

  // In the order of the keys' bytes. Errors: DATA_LOSS another number of rows than was stored;
  // UNAVAILABLE I/O; those of `visit`.
  virtual absl::Status ForEach(RowVisit visit) = 0;
  // At most `limit` of those whose keys are greater than `after`, in the same order.
  virtual absl::Status ForEachAfter(std::string_view after, std::size_t limit, RowVisit visit) = 0;
  // The one with this key, if there is one.
  virtual absl::Status ForOne(std::string_view key, RowVisit visit) = 0;

  virtual std::uint64_t size() const = 0;
  // The last digest that a change brought, zero when there was none.
  virtual const Sha256Digest& file() const = 0;
  virtual int format() const = 0;

  // Durable on return. Errors: RESOURCE_EXHAUSTED no space; ABORTED another server owns the model;
  // UNAVAILABLE I/O, or it is not known whether the change took place: a repeat is safe; DATA_LOSS;
  // those of `put`. After an error nothing has changed that anybody sees.
  virtual absl::StatusOr<RowsChanged> Change(const RowChange& change) = 0;

  // Keys that have left until then, in the order of their times, at most `max`. Errors: DATA_LOSS
  // damaged; UNAVAILABLE I/O.
  virtual absl::StatusOr<std::vector<LeftKey>> LeftKeys(absl::Time until, std::size_t max) = 0;
  absl::StatusOr<std::vector<LeftKey>> LeftKeys() {
    return LeftKeys(absl::InfiniteFuture(), SIZE_MAX);
  }
  // When the first of them left; nothing where there is none. Errors: the same.
  virtual absl::StatusOr<std::optional<absl::Time>> FirstLeft() = 0;
  // Takes those off that left until then. Errors: as Change.
  virtual absl::Status RemoveLeft(std::span<const std::uint64_t> keys, absl::Time until) = 0;

  // For who follows a table that another server changes. 0 before the first change; each change
  // makes it greater, a change of left keys alone does not. A table in a file has no followers: its
  // version counts the changes of this object.
  virtual std::int64_t version() const = 0;
  // Visits what was put since `version`, in the order of the keys, and takes the table's present
  // size, file, format and version over into this object. A version that is not of this table's
  // past gives all of it. Errors: as ForEach.
  virtual absl::StatusOr<RowsSince> ChangesSince(std::int64_t version, RowVisit visit) = 0;
};

enum class TableKind : std::uint8_t {
  kArms = 1,   // keys: the arm's id, 4 bytes, big endian
  kUsers = 2,  // keys: the user's id, 1 to kUserIdBytesMax bytes
};

// Where a table is, or will be.
struct TablePlace {
  std::string where;  // for messages
  // Errors: UNAVAILABLE I/O.
  std::function<absl::StatusOr<bool>()> exists;
  // Makes it where it is not there. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  std::function<absl::StatusOr<std::unique_ptr<RowTable>>()> open;
};

}  // namespace bandana::server
