// The file of named decisions: a sealed row per name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "common/sqlite/sqlite.h"
#include "server/service/decisions/answer_keys.h"
#include "server/service/decisions/decision_index.h"

namespace bandana::server {

// A name that is new, with its answer, or one that is gone.
struct AnswerChange {
  Sha256Digest key{};
  std::optional<NamedAnswer> answer;
};

// Rows have numbers, and are sealed: without the keys the file shows how many answers there are,
// and how long. Not thread-safe.
class AnswerStore {
 public:
  // Opens or makes the file; one of the former format, whose rows stood in clear, is sealed. `keys`
  // must outlive the store. Errors: DATA_LOSS damaged; UNAVAILABLE I/O, randomness.
  static absl::StatusOr<AnswerStore> Open(const std::string& path, const AnswerKeys& keys);

  using Row = std::function<void(const Sha256Digest& key, NamedAnswer answer)>;
  // Once, before the first Apply. Answers whose key is gone are left out, and go with the next
  // Apply: no report by their tokens can be accepted. Errors: DATA_LOSS.
  absl::Status ForEach(const Row& row);
  // One transaction, durable on return. `erase`: afterwards no byte of what is gone is in the file
  // or beside it. Errors: RESOURCE_EXHAUSTED no space; UNAVAILABLE I/O, randomness; DATA_LOSS.
  absl::Status Apply(const std::vector<AnswerChange>& changes, bool erase);

 private:
  struct DigestHash {
    std::size_t operator()(const Sha256Digest& digest) const;
  };
  using RowNumbers = std::unordered_map<Sha256Digest, std::int64_t, DigestHash>;

  AnswerStore(SqliteConnection connection, const AnswerKeys& keys)
      : connection_(std::move(connection)), keys_(&keys) {}
  absl::Status SealFormerRows();
  absl::Status Write(const std::vector<AnswerChange>& changes, RowNumbers& added);
  absl::Status Transaction(const std::function<absl::Status()>& write);

  SqliteConnection connection_;
  const AnswerKeys* keys_;
  RowNumbers numbers_;              // of the rows in the file
  std::vector<std::int64_t> lost_;  // rows that nothing opens any more
  std::int64_t next_ = 1;
};

}  // namespace bandana::server
