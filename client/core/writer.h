// Operations on the device's state, many to a commit: all of them durable at once, or none.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/core/callback.h"
#include "client/core/device_time.h"
#include "client/core/ledger.h"
#include "client/core/tables.h"

namespace bandana::device {

// The objects that an operation may touch. The rest of the core may change while it runs.
struct Transaction {
  Tables& tables;
  Ledger& ledger;
  // Tasks that run inside the core once the transaction has ended.
  std::vector<Callback<void()>>& after;
};

// A status that an operation returns is its own affair (a refusal); failures of the rows roll the
// transaction back and reach `committed` of all operations in it. Threads: one at a time, and all
// but Run inside the core.
class Writer {
 public:
  using Operation = Callback<absl::Status(Transaction&)>;
  using Committed = Callback<void(absl::Status)>;
  struct Entry {
    // Reads what the operation must know of the core, when its transaction begins; may be null.
    Callback<void()> before;
    Operation operation;
    Committed committed;    // may be null
    bool reaction = false;  // must leave no trace of when it came
    bool lazy = false;      // may be lost in a crash
    absl::Status status;
  };
  // Operations of one transaction.
  struct Group {
    std::vector<Entry> entries;
    std::optional<DeviceTime> time;  // when it began; none: it keeps none
    absl::Status failure;
    std::vector<Callback<void()>> after;
    bool is_answered = false;
  };
  // After `before` of all entries.
  using ReadTime = Callback<std::optional<DeviceTime>()>;
  // Hears of the commit before its operations do.
  using Answered = Callback<void(bool durable)>;

  explicit Writer(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}

  Tables& tables() { return *tables_; }
  Ledger& ledger() { return ledger_; }
  // A commit was not answered yet.
  bool busy() const { return busy_; }

  // Begins a transaction. Requires !busy(). Run and Commit follow, once each.
  std::shared_ptr<Group> Begin(std::vector<Entry> entries, const ReadTime& read_time);
  // Runs the operations. May run outside of the core, while others are inside.
  void Run(Group& group);
  // Commits, or rolls back what failed. An answer counts once: what a host says of a commit after
  // its first word is ignored. The writer outlives the answer.
  void Commit(const std::shared_ptr<Group>& group, Answered answered);

 private:
  void Finish(Group& group, const Answered& answered, absl::Status failure);

  std::unique_ptr<Tables> tables_;
  Ledger ledger_;
  bool busy_ = false;
  // After a failed commit that could not be read again: no draw may build on it.
  absl::Status broken_;
};

}  // namespace bandana::device
