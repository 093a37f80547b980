// Operations on the device's state, many to a commit: all of them durable at once, or none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/core/device_time.h"
#include "client/core/ledger.h"
#include "client/core/tables.h"

namespace bandana::device {

// The objects that an operation may touch.
struct Transaction {
  Tables& tables;
  Ledger& ledger;
};

// A status that an operation returns is its own affair (a refusal); failures of the rows roll the
// transaction back and reach `committed` of all operations in it. Threads: not thread-safe.
class Writer {
 public:
  using Operation = std::function<absl::Status(Transaction&)>;
  using Committed = std::function<void(absl::Status)>;
  struct Entry {
    Operation operation;
    Committed committed;  // may be null
    absl::Status status;
    bool reaction = false;  // must leave no trace of when it came
  };
  // After the operations, before the commit.
  using ReadTime = std::function<std::optional<DeviceTime>()>;
  // Hears of the commit before its operations do.
  using Answered = std::function<void(bool durable)>;

  explicit Writer(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}

  Tables& tables() { return *tables_; }
  Ledger& ledger() { return ledger_; }
  // A commit was not answered yet.
  bool busy() const { return busy_; }

  // Runs the operations in one transaction and commits it. Requires !busy(). An answer counts once:
  // what a host says of a commit after its first word is ignored. The writer outlives the answer.
  void Write(std::vector<Entry> entries, const ReadTime& read_time, Answered answered);

 private:
  void Finish(std::vector<Entry>& entries, const Answered& answered, absl::Status failure);

  std::unique_ptr<Tables> tables_;
  Ledger ledger_;
  bool busy_ = false;
  // After a failed commit that could not be read again: no draw may build on it.
  absl::Status broken_;
};

}  // namespace bandana::device
