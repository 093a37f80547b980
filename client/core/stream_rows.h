// Rows of the device's counter streams and of their steps that the server has not acknowledged.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/core/ledger_rows.h"
#include "client/core/sealed_rows.h"
#include "client/core/secret_bytes.h"

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

// Every function runs inside a transaction; failures are kept by the rows. Streams without their
// states are in memory as well.
// Threads: not thread-safe.
class StreamRows {
 public:
  // `rows` outlives it. Call Load before anything else.
  explicit StreamRows(SealedRows* rows) : rows_(rows) {}
  // Reads every stream; `verify`: and every step. Errors: DATA_LOSS.
  absl::Status Load(bool verify);

  // Adds a stream without steps; its id is set.
  void Add(StreamRow& row);
  std::optional<StreamRow> Find(StreamId id) const;
  // The owner's newest stream of the user in this epoch.
  std::optional<StreamRow> Current(PolicyId policy, OwnerId owner, std::string_view user,
                                   std::uint64_t epoch) const;
  // By id. `user` empty: of every user.
  std::vector<StreamRow> Of(PolicyId policy, std::string_view user) const;

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
  // Drops the steps up to `last` that wait, and returns their decisions.
  std::vector<DecisionNumber> DropSteps(
      StreamId stream, std::uint64_t last = std::numeric_limits<std::int64_t>::max());
  // Gives `owner` the policy's streams that none of `live` owns.
  void Adopt(OwnerId owner, PolicyId policy, const std::set<OwnerId>& live);

 private:
  using UserKey = std::pair<PolicyId, std::string>;
  // The stored row, or none of a stream that is not there.
  std::optional<Record> Stored(StreamId id);

  SealedRows* const rows_;
  std::map<StreamId, StreamRow> streams_;
  std::map<UserKey, std::set<StreamId>> of_user_;
};

}  // namespace bandana::device
