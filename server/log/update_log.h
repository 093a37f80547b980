// The ordered, durable log of one model, as an engine provides it (LogEngine). LogWriter is the
// only appender and adds queueing, group commit and admission; an engine stores transactions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/model/entries/log_entry.h"
#include "server/log/dense_id.h"

namespace bandana::server {

struct NewRecord {
  std::string_view bytes;
  RememberedIds ids;  // those that are not dense; usually one, or none
};

// One transaction: all of it becomes durable, or nothing.
struct LogBatch {
  // `record` must outlive the transaction.
  void Add(std::string_view record, RememberedIds ids = {}) {
    records.push_back({record, std::move(ids)});
  }
  // A record that exists nowhere else.
  void AddOwned(std::string record, RememberedIds ids = {}) {
    Add(owned.emplace_back(std::move(record)), std::move(ids));
  }

  std::vector<NewRecord> records;  // appended in this order
  std::deque<std::string> owned;   // bytes that some of them view; does not move
  // Written in this order over what is there; a new one has the next slot. Their bytes before are
  // overwritten where they stood.
  std::vector<Cell> cells;
  // Written over what is there of the same issuer, kind and number.
  std::vector<IdChunk> chunks;
  // Ids of smaller buckets are dropped, and chunks whose newest one is smaller.
  std::optional<std::int64_t> forget_before;
  // Drops entries beyond trimmed() up to this one, as Trim; 0: none. Only where TrimsWithAppends.
  std::uint64_t trim_through = 0;
  std::string counters;  // replaces the stored ones; opaque to the log
};

// Read access to a log. Threads: safe.
class LogReader {
 public:
  virtual ~LogReader() = default;

  // Appends to `out` up to `entries_max` entries after the position, in order, none when there is
  // none. Errors: DATA_LOSS naming the sequence when an entry is missing or does not continue the
  // running hash; UNAVAILABLE I/O.
  virtual absl::Status Read(const LogPosition& after, int entries_max,
                            std::vector<LogEntry>& out) const = 0;

  // As Read, of the entries that are left after `sequence`, whose running hash the caller does not
  // know: the first one's is taken as it is stored.
  virtual absl::Status ReadLeft(std::uint64_t sequence, int entries_max,
                                std::vector<LogEntry>& out) const = 0;

  // The last durable entry.
  virtual LogPosition last() const = 0;
  // Entries up to this sequence have been trimmed, or never were (a log that continues an imported
  // state).
  virtual std::uint64_t trimmed() const = 0;
};

// The log of its one owner. Threads: the methods that change it from one thread at a time.
class UpdateLog : public LogReader {
 public:
  // Greater than that of every owner before. Every change names it. 0 where nobody else may open
  // the log.
  virtual std::int64_t term() const { return 0; }

  // Returns once the batch is durable. Errors: RESOURCE_EXHAUSTED no space: nothing changed, a
  // later call may succeed. UNKNOWN the batch may have become durable, or may still: FindOut tells,
  // and no other call may come between. ABORTED another server owns the log now. Any other: the log
  // must not be used for appending again; what became durable is found out by opening it anew.
  virtual absl::Status Append(const LogBatch& batch) = 0;

  // After a change that was answered UNKNOWN: true where it is durable, false where it is not and
  // never will be. Errors: UNKNOWN it cannot be told yet; the others of Append.
  virtual absl::StatusOr<bool> FindOut() {
    return absl::FailedPreconditionError("nothing is open");
  }

  // Drops up to `entries_max` of the oldest entries with sequence <= `through`, or as many as one
  // transaction brought; true when some are left. Errors: as Append.
  virtual absl::StatusOr<bool> Trim(std::uint64_t through, int entries_max) = 0;

  // Whether an append can drop entries as well, for the price of one sync.
  virtual bool TrimsWithAppends() const { return false; }

  // Asks the Trims from now on, until one has nothing left to drop, to leave the bytes of no
  // dropped entry in any file, also of entries that were dropped before. Costs a copy of what is
  // left.
  virtual void EraseTrimmed() = 0;

  // The stored ids and cells, as of the opening of the log. Errors: DATA_LOSS; UNAVAILABLE I/O.
  virtual absl::Status ForEachId(const std::function<void(const RememberedId&)>& visit) const = 0;
  virtual absl::Status ForEachChunk(const std::function<void(const IdChunk&)>& visit) const = 0;
  // By slot.
  virtual absl::Status ForEachCell(const std::function<void(const Cell&)>& visit) const = 0;
  virtual std::int64_t forgotten_before() const = 0;
  virtual const std::string& counters() const = 0;
};

}  // namespace bandana::server
