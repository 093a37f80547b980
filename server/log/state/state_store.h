// The state that a model has beside its log: a few files (identity, configuration, checkpoints) and
// two tables (arms, users). An engine of logs keeps it where it keeps the log
// (LogEngine::OpenState).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/byte_sink.h"
#include "server/log/state/row_table.h"

namespace bandana::server {

// Names of files of a model's state. Checkpoints have names of CheckpointStore.
inline constexpr char kIdentityFile[] = "identity";
inline constexpr char kConfigFile[] = "config.binpb";  // models made at run time

// Reads as many bytes as `out` has, from `offset` on. Errors: DATA_LOSS they are not there;
// UNAVAILABLE I/O.
using ReadAt = std::function<absl::Status(std::uint64_t offset, std::span<char> out)>;

// How far the parts of a state are, to ask for what has changed alone. Each number grows with each
// change of its part, and comes again in no other state of it.
struct StateVersions {
  std::int64_t files = 0;
  std::int64_t arms = 0;   // RowTable::version
  std::int64_t users = 0;  // the same
  friend bool operator==(const StateVersions&, const StateVersions&) = default;
};

// The stored state of one model. Threads: safe, but for each table.
//
// Who owns the model's log owns its state. In a database every change names the owner's term, as an
// append does: one of a former owner takes no effect, and is answered ABORTED. Anybody may read.
class StateStore {
 public:
  virtual ~StateStore() = default;

  // Names in no order, without what a crash left half written. Errors: UNAVAILABLE I/O.
  virtual absl::StatusOr<std::vector<std::string>> Files() const = 0;
  virtual absl::StatusOr<bool> Has(std::string_view name) const = 0;
  // Errors: NOT_FOUND; RESOURCE_EXHAUSTED larger than bytes_max; DATA_LOSS damaged;
  // FAILED_PRECONDITION a key is missing, or another one; UNAVAILABLE I/O.
  virtual absl::StatusOr<std::string> Read(std::string_view name,
                                           std::uint64_t bytes_max) const = 0;
  // Reads parts of it; more than a few of its bytes are in memory only where the file is sealed.
  // Errors: as Read.
  virtual absl::StatusOr<ReadAt> Open(std::string_view name) const = 0;

  // Durable on return, in place of a file of that name. Until then, and after an error or a crash,
  // the former one stands. `content` may be asked more than once. Errors: RESOURCE_EXHAUSTED no
  // space; ABORTED another server owns the model; UNAVAILABLE I/O, or it is not known whether the
  // change took place; those of `content`.
  virtual absl::Status Write(std::string_view name, const ByteSource& content) = 0;
  absl::Status Write(std::string_view name, std::string_view content) {
    return Write(name, SourceOf(content));
  }
  // Both durable on return. OK when there is no such file. Errors: as Write.
  virtual absl::Status Remove(std::string_view name) = 0;
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;
  // Removes what a crash left half written of files whose names begin so. Errors: as Write.
  virtual absl::Status RemoveHalfWritten(std::string_view prefix) = 0;
  // Nothing is left of the bytes of files that were removed or replaced (archives of a database
  // apart: docs/operations/servers.md). Errors: as Write.
  virtual absl::Status EraseRemoved() = 0;
  // For messages: a path, or how a database has it.
  virtual std::string Where(std::string_view name) const = 0;

  // At most one object of a table changes it. The state must outlive it.
  virtual TablePlace Table(TableKind kind) = 0;

  // One cheap look, for followers. Errors: NOT_FOUND the model is gone; UNAVAILABLE I/O.
  virtual absl::StatusOr<StateVersions> Versions() const = 0;

  // From now on changes name this term, which UpdateLog::term() of the opened log says, and those
  // under a smaller one take no effect any more: to be called when the log was opened for
  // appending, before anything of the state is read that counts. Waits for changes of the former
  // owner that are on their way. Errors: ABORTED there is a greater term; UNAVAILABLE.
  virtual absl::Status Own(std::int64_t term) = 0;
};

// A model that a store knows by name.
struct StoredModel {
  std::string name;
  bool made_at_run_time = false;  // it has a kConfigFile
  std::string log;                // id of its log, 16 bytes
  StateVersions versions;
};

// Small files that all servers of a store share, such as aliases and the ring of token keys.
// Threads: safe.
class SharedFiles {
 public:
  struct File {
    std::string content;
    std::int64_t version = 0;  // never 0; comes again in no other content
    bool sealed = false;       // only who has the key can have written it
  };
  virtual ~SharedFiles() = default;
  // Errors: NOT_FOUND; DATA_LOSS damaged; FAILED_PRECONDITION a key is missing, or another one;
  // UNAVAILABLE I/O.
  virtual absl::StatusOr<File> Read(std::string_view name) const = 0;
  // 0: there is none. Cheap. Errors: UNAVAILABLE I/O.
  virtual absl::StatusOr<std::int64_t> Version(std::string_view name) const = 0;
  // Whether it takes what is secret.
  virtual bool keeps_secrets() const = 0;
  // Replaces the file if it has still this version (0: is still not there); the new version.
  // Durable on return. `secret`: must not lie in clear where others can read. Errors: ABORTED it
  // has another version by now; FAILED_PRECONDITION secret, and there is no key to seal it with;
  // UNAVAILABLE I/O, or it is not known whether it was replaced.
  virtual absl::StatusOr<std::int64_t> Replace(std::string_view name, std::int64_t version,
                                               std::string_view content, bool secret) = 0;
};

}  // namespace bandana::server
