// The only way into a model's log: a bounded queue, one thread, one transaction for all that waits.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "server/log/update_log.h"

namespace bandana::server {

// The verdict on a record that asks for entry.
enum class Admission : std::uint8_t {
  kAppend,
  kDuplicate,  // its id is known
  kExpired,    // its time is over
  kForeign,    // of another epoch
  kUserLimit,  // its user, or the number of users, is at the limit
  kNoRoom,     // no further id can be remembered now
  kInvalid,    // of no node that can be told, or of another one than its stream
  kGap,        // starts beyond the step after the stream's newest
  kForked,     // a step received before, with other content
  kExhausted,  // steps_max, or the number of streams, is reached
  kUnsealed,   // no randomness to seal its cell with
  kInactive,   // of a decision that counts from its activation on, and has not been activated
};

// The deterministic part of the state that decides what enters the log: a function of the entries
// before. Called by the writer's thread only. A record that is judged kAppend counts for the
// records judged after it, and stands with Commit or falls with Rollback.
class AppendGate {
 public:
  virtual ~AppendGate() = default;
  // With kAppend, puts into the batch what the record becomes in the log, with the ids to remember:
  // usually itself; entries that it needs before it; what the order of entries leaves of it; or a
  // cell and nothing else. The record is well formed: it comes from this process, and outlives the
  // transaction.
  virtual Admission Judge(std::string_view record, LogBatch& batch) = 0;
  // Called when all of a transaction are judged: adds what has become of the dense ids since the
  // last Commit, and gives the records the form in which they enter the log.
  virtual void Complete(LogBatch& batch) = 0;
  // Buckets of ids that the next transaction drops.
  virtual std::optional<std::int64_t> ForgetBefore() = 0;
  // The counters as they stand after Commit, and whether they differ from the last stored ones.
  virtual std::string EncodeCounters() = 0;
  virtual bool CountersChanged() const = 0;
  // `stored`: a transaction took place, with the counters.
  virtual void Commit(const LogPosition& last, bool stored) = 0;
  virtual void Rollback() = 0;
};

// Whether others may notice the records of a call. Hidden records are not counted among those that
// wait, and have the bounds of the queue for themselves. Where a transaction of theirs alone fails,
// they alone are refused: others hear of it from the next transaction that is not for them.
enum class Notice : std::uint8_t { kOpen, kHidden };

// One entry per record. Not OK: nothing of the request is promised, a repeat is safe.
using AppendDone = std::function<void(const absl::Status&, std::span<const Admission>)>;

// Threads: safe. The log and the gate must outlive it.
class LogWriter {
 public:
  struct Options {
    int queue_records_max = kAppendQueueMax;
    std::size_t queue_bytes_max = kAppendQueueBytesMax;
    int group_records_max = kGroupCommitMax;
    absl::Duration idle_interval =
        absl::Seconds(1);  // between stores of counters, and retries on a full disk
    absl::Duration patience = absl::Seconds(2);  // with a transaction of unknown outcome
    absl::Duration find_out_interval = absl::Milliseconds(200);
    int trim_entries = 512;  // deleted in one transaction
    // The greatest kind of entry that every server of the log reads (EntryKindOf); null: there is
    // this one alone.
    std::shared_ptr<const std::atomic<int>> kind_read;
    bool stepped = false;  // no thread: Step does the work, on its caller's
  };
  LogWriter(UpdateLog& log, AppendGate& gate, const Options& options);
  // Completes what is queued, then stops.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Queues the records of one call; they stay together in one transaction. `done` is called once,
  // on the writer's thread, when all that was admitted is durable. Without `done` the records wait
  // through a full disk instead of failing. Errors: UNAVAILABLE queue full, the log has failed, or
  // another server of the log could not read them; then `done` is not called.
  absl::Status Submit(std::vector<std::string> records, AppendDone done,
                      Notice notice = Notice::kOpen);

  // Completes what is queued, then takes nothing more: Submit answers `why`. Idempotent.
  void Close(const absl::Status& why);

  // Entries up to the sequence may be dropped, in slices between appends.
  void TrimThrough(std::uint64_t sequence);

  // As above, and then the bytes of no entry up to it stand anywhere (UpdateLog::EraseTrimmed).
  // `done` is called once, on the writer's thread, when it is so, or with what came between: it
  // goes on then all the same. Errors: UNAVAILABLE the log is closed or has failed; then `done` is
  // not called.
  absl::Status EraseThrough(std::uint64_t sequence, std::function<void(absl::Status)> done);

  // OK; RESOURCE_EXHAUSTED while the disk is full; UNKNOWN while nobody can tell what became of a
  // transaction, which is found out; ABORTED another server owns the log now; or why the log takes
  // nothing until a restart (UNAVAILABLE).
  absl::Status Health() const;

  // Records that wait for the disk now, at most queue_records_max; none that is hidden.
  int queued() const;

  // Stepped: does all that is due, with one try where the disk is full, and stores the counters.
  void Step();
  // Stepped: whether Step has something to do that cannot wait.
  bool due() const;

 private:
  struct Request {
    std::vector<std::string> records;
    AppendDone done;
    std::size_t bytes = 0;  // of its records
    Notice notice = Notice::kOpen;
    std::chrono::steady_clock::time_point queued_at;
  };
  struct Load {
    int records = 0;
    std::size_t bytes = 0;
    void Add(const Request& request) {
      records += static_cast<int>(request.records.size());
      bytes += request.bytes;
    }
    void Remove(const Request& request) {
      records -= static_cast<int>(request.records.size());
      bytes -= request.bytes;
    }
  };
  using Requests = std::deque<Request>;

  Load& LoadOf(Notice notice) { return queued_[static_cast<std::size_t>(notice)]; }
  void Run();
  // Errors: UNAVAILABLE another server of the log could not read it.
  absl::Status CheckKind(std::string_view record) const;
  // False when the writer shall stop.
  bool WaitForWork();
  // Whether there is work, but for what waits for space. Requires mutex_.
  bool HasWork() const { return trim_due() || !queue_.empty(); }
  bool trim_due() const { return trimming_ && failed_.ok(); }
  // One group, and a slice of a trim when one is due: in the group's transaction where the log can.
  void Pass();
  // Up to which entry the next transaction drops; 0: it drops none.
  std::uint64_t TrimWithGroup() const;
  // Ends everything that waits.
  void Finish();
  Requests TakeGroup();
  void Write(Requests group);
  // Records without a caller do not wait for what may last: they would hold up all that comes.
  static void LetGo(Requests& group);
  void TrimSlice();
  // Makes a change of the log, unless an unseen one has failed for good. Where its outcome is not
  // known it is found out, however long it takes, and the change is made again where it was not;
  // after a while the callers who wait for it are told that nothing is promised. UNAVAILABLE the
  // writer stops before it is known.
  absl::Status Settle(const std::function<absl::Status()>& change, Requests& group, Notice notice);
  // Since when somebody waits in the queue whose records are not hidden.
  std::optional<std::chrono::steady_clock::time_point> OthersWaitSince() const;
  // Tells those who wait, all of them or the hidden alone.
  void AnswerAway(const absl::Status& why, Requests& group, Notice notice);
  // Answers those who wait for an erasure.
  void AnswerErasures(const absl::Status& status);
  // Takes note of a transaction's outcome; the status that callers get.
  absl::Status Note(const absl::Status& status, Notice notice);
  void Finish(Requests group, std::span<const Admission> verdicts, const absl::Status& status);

  UpdateLog& log_;
  AppendGate& gate_;
  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Requests queue_;
  std::array<Load, 2> queued_;  // by Notice
  std::uint64_t trim_through_ = 0;
  bool trimming_ = false;
  bool erase_ = false;  // the log is to be asked
  std::vector<std::function<void(absl::Status)>> erasures_;
  bool fresh_ = false;  // something came since the last group was taken
  bool stop_ = false;
  absl::Status closed_;     // by Close
  absl::Status failed_;     // for good
  absl::Status unseen_;     // why it will be, once others may notice; of the writer's thread
  bool fenced_ = false;     // failed_: another server owns the log
  absl::Status away_;       // until the outcome of a transaction is known
  absl::Status full_disk_;  // until the next success
  LogBatch batch_;          // of the writer's thread, kept for their capacity
  std::vector<Admission> verdicts_;
  std::chrono::steady_clock::time_point stored_at_{};
  std::thread thread_;
};

}  // namespace bandana::server
