// The file of named decisions: a row per name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "common/sqlite/sqlite.h"
#include "server/service/decisions/decision_book.h"

namespace bandana::server {

// A name that is new, with its answer, or one that is gone.
struct AnswerChange {
  Sha256Digest key{};
  std::optional<NamedAnswer> answer;
};

// Not thread-safe.
class AnswerStore {
 public:
  // Opens or makes the file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  static absl::StatusOr<AnswerStore> Open(const std::string& path);

  using Row = std::function<void(const Sha256Digest& key, NamedAnswer answer)>;
  // Errors: DATA_LOSS.
  absl::Status ForEach(const Row& row);
  // One transaction, durable on return. `erase`: afterwards no byte of what is gone is in the file
  // or beside it. Errors: RESOURCE_EXHAUSTED no space; UNAVAILABLE I/O; DATA_LOSS.
  absl::Status Apply(const std::vector<AnswerChange>& changes, bool erase);

 private:
  explicit AnswerStore(SqliteConnection connection) : connection_(std::move(connection)) {}
  absl::Status Write(const std::vector<AnswerChange>& changes);

  SqliteConnection connection_;
};

}  // namespace bandana::server
