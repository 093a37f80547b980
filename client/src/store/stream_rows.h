// Rows of the device's counter streams and of their steps that the server has not acknowledged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/base/secret_bytes.h"
#include "client/src/store/ledger_rows.h"
#include "client/src/store/sealer.h"
#include "client/src/store/sqlite.h"

namespace bandana::device {

using OwnerId = std::int64_t;
using DecisionNumber = std::int64_t;
using StreamId = std::int64_t;

// Why a stream takes no more steps. The numbers are stored.
enum class StreamEnd : int {
  kNone = 0,        // it goes on
  kExhausted = 1,   // its last step is taken, or the server has no room for more
  kForked = 2,      // the server has other steps of it than the device: a store was copied
  kGap = 3,         // the server lost steps that it had acknowledged
  kToken = 4,       // the server does not take a step's token
  kEpoch = 5,       // the model is in another epoch
  kPolicy = 6,      // the model has another configuration
  kRolledBack = 7,  // the store's file was older than its anchor
  kRefused = 8      // the server refuses the model's reports
};
// After these no new stream of the user is opened in the same epoch.
inline bool IsFinal(StreamEnd end) {
  return end == StreamEnd::kExhausted || end == StreamEnd::kRefused;
}
// "forked", ..; "" while it goes on.
std::string_view NameOf(StreamEnd end);

// One counter of one user.
struct StreamRow {
  StreamId id = 0;
  PolicyId policy = 0;
  OwnerId owner = 0;
  std::string user;
  std::uint64_t epoch = 0;
  std::string stream;  // 16 random bytes, its name on the wire
  StreamEnd end = StreamEnd::kNone;
  std::uint64_t step = 0;          // steps taken
  std::uint64_t acknowledged = 0;  // newest step that the server has
};

// A released step: what the server is told of it, ever.
struct StepRow {
  std::uint64_t step = 0;
  DecisionNumber number = 0;
  std::string content;  // serialized v1.CounterReport: `moment` after this step, its CounterStep
};

// Every function runs inside the writer's transaction; failures are kept by the Database.
// Threads: not thread-safe.
class StreamRows {
 public:
  // Prepares the statements. Errors: DATA_LOSS.
  static absl::StatusOr<std::unique_ptr<StreamRows>> Create(Database* database, Sealer* sealer);
  ~StreamRows();
  // Checks every row. Errors: DATA_LOSS.
  absl::Status Verify();
  // Seals anew what `former` sealed. Inside a transaction. Errors: DATA_LOSS; UNAVAILABLE.
  absl::Status Reseal(Sealer& former);

  // Adds a stream without steps; its id is set.
  void Add(StreamRow& row);
  std::optional<StreamRow> Find(StreamId id);
  // The owner's newest stream of the user in this epoch.
  std::optional<StreamRow> Current(PolicyId policy, OwnerId owner, std::string_view user,
                                   std::uint64_t epoch);
  // By id. `user` empty: of every user.
  std::vector<StreamRow> Of(PolicyId policy, std::string_view user);

  // The counter's private state after `row.step` steps. Errors: DATA_LOSS it was sealed by another
  // key, for another stream or step, or changed.
  absl::StatusOr<SecretBytes> State(const StreamRow& row);
  // Stores the row's step, acknowledgement and end together with the state; erases what was there.
  void Put(const StreamRow& row, const SecretBytes& state);

  void AddStep(StreamId stream, const StepRow& step);
  // Up to `limit` steps above `after`, in order. Errors: DATA_LOSS as State.
  absl::StatusOr<std::vector<StepRow>> Steps(StreamId stream, std::uint64_t after, int limit);
  int CountSteps(StreamId stream);
  // Settles the steps up to `step`.
  void Acknowledge(StreamId stream, std::uint64_t step);

  // Ends the stream: its state is erased. Steps that wait stay.
  void End(const StreamRow& row, StreamEnd end);
  // Drops the steps that wait and returns their decisions.
  std::vector<DecisionNumber> DropSteps(StreamId stream);
  // Gives `owner` the policy's streams that none of `live` owns.
  void Adopt(OwnerId owner, PolicyId policy, const std::set<OwnerId>& live);

 private:
  struct Statements;
  StreamRows(Database* database, Sealer* sealer);
  absl::Status Prepare();

  Database* const database_;
  Sealer* const sealer_;
  std::unique_ptr<Statements> sql_;
};

}  // namespace bandana::device
