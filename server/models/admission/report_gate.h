// Which records enter a model's log: each decision once, in time, in its epoch, within its user's
// limit. A function of the entries before, so that every reader of the log agrees. Reports of open
// decisions enter nothing: they overwrite the decision's cell, and the entry that closes the window
// has what the cell holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/model/entries/counters.h"
#include "common/model/entries/records.h"
#include "common/model/entries/user_index.h"
#include "common/model/state/cell_codec.h"
#include "common/model/state/debit_policy.h"
#include "common/model/state/deleted_users.h"
#include "common/model/state/epoch_events.h"
#include "common/model/state/fading.h"
#include "common/model/state/window_table.h"
#include "server/log/id_index.h"
#include "server/log/log_writer.h"
#include "server/models/admission/budget_use.h"
#include "server/models/admission/entry_salts.h"
#include "server/models/admission/new_users.h"
#include "server/models/admission/payments.h"
#include "server/models/admission/refusals.h"
#include "server/models/admission/report_ids.h"
#include "server/models/admission/stream_table.h"
#include "server/models/admission/waiting_decisions.h"

namespace bandana::server {

// Time buckets of remembered ids: by the decision's time.
inline constexpr absl::Duration kIdBucket = absl::Seconds(10);
std::int64_t IdBucketOf(absl::Time time);

// The gate's knowledge of the entries before, beside the ids.
struct GateState {
  std::uint64_t epoch = 1;
  absl::Time time = absl::UnixEpoch();  // of the last time entry
  absl::Duration ahead;                 // ClockRecord
  Fading fading;
  EpochEvents events;
  StreamTable streams;  // of the devices
  Payments payments;
  DeletedUsers deleted;
};

// Threads: Restore and Remember before the writer starts, then the AppendGate methods on the
// writer's thread; the accessors from any thread.
class ReportGate final : public AppendGate {
 public:
  struct Options {
    int dimension = 0;
    bool windows = false;              // events are decisions, else outcomes
    bool hides = false;                // HidesReports
    const CellCodec* cells = nullptr;  // with windows
    int users_max = 0;                 // of those that become nodes when first seen
    // Events of one node in an epoch, 0 = unlimited; not for nodes that pool users, whom the server
    // cannot tell apart.
    std::uint64_t events_per_user_max = 0;
    std::vector<bool> pooled;  // by node; empty = none
    std::uint64_t ids_max = 0;
    absl::Duration token_lifetime;
    // From a decision on until its id is forgotten (EventRule::decided_after).
    absl::Duration remember;
    const CounterDesign* counter = nullptr;  // of local streams; nullptr: each step releases
    // Debits that come before the next epoch's entry, for those that are lost.
    std::vector<DebitRecord> owed;
    std::shared_ptr<const DebitPolicy> debits = MakeNoDebits();
    WaitingDecisions* waiting = nullptr;  // told of outcomes; must outlive the gate
    bool salts_entries = false;           // of a log that keeps raw rewards: EntrySalts
    BitSource* bits = &SystemBits();
  };
  // `committed` is called after every transaction, with the last durable entry.
  ReportGate(Options options, UserIndex& users, Counters& counters,
             std::function<void(const LogPosition&)> committed);

  void Restore(GateState state);
  // As WindowTable::Restore, with the cells of the log. Errors: UNAVAILABLE I/O as well.
  absl::Status RestoreWindows(const OpenWindows& open, const UpdateLog& log,
                              const WindowValues& former);
  void Remember(const RememberedId& id);
  void Remember(const IdChunk& chunk) { ids_.Insert(chunk); }
  void ForgetBefore(std::int64_t bucket);

  Admission Judge(std::string_view record, LogBatch& batch) override;
  void Complete(LogBatch& batch) override {
    ids_.AddChanged(batch.chunks);
    salts_.Put(batch);
  }
  std::optional<std::int64_t> ForgetBefore() override;
  std::string EncodeCounters() override;
  bool CountersChanged() const override;
  void Commit(const LogPosition& last, bool stored) override;
  void Rollback() override;

  std::uint64_t epoch() const { return published_epoch_.load(std::memory_order_acquire); }
  // Decisions that are open, and distinct ids remembered.
  std::uint64_t ids() const { return published_ids_.load(std::memory_order_relaxed); }
  std::uint64_t ids_max() const { return options_.ids_max; }
  // The present refusals. Whoever refuses a decision before it is queued sets the reason as well.
  GateRefusals& refusals() { return refusals_; }
  RefusalLimits limits() const { return {options_.ids_max, options_.users_max}; }
  // nullopt: nothing bounds them; or events of a user are bounded, and the server, which cannot
  // tell one from another, leaves it to the devices.
  std::optional<BudgetUse> budget() const;
  // Most events of one node, over all epochs.
  std::uint64_t events_of_one_max() const { return events_max_.load(std::memory_order_relaxed); }
  // Decisions whose windows are open, reported or not.
  std::uint64_t windows_open() const { return windows_open_.load(std::memory_order_relaxed); }
  // The end of the newest bucket of ids; InfinitePast without any. On the writer's thread.
  absl::Time newest_id() const;
  // Newest durable step of a device's stream, 0 = unknown. On the writer's thread.
  std::uint64_t AcknowledgedStep(const StreamId& stream) const;
  // The values of open windows that a report came for: of all, or of this OwnerOf. On the writer's
  // thread.
  WindowValues ReportedValues(std::optional<std::uint64_t> owner = std::nullopt) const;
  // When the oldest ids can be forgotten; InfiniteFuture when there are none.
  absl::Time forget_due() const;

 private:
  // Judges one record and counts the verdict. Others enter as they are.
  Admission Take(const DecisionRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const OutcomeRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const ReportRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(CounterRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const ContextRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const TimeRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const EpochRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const ClockRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const FadeRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const CloseRecord& record, std::string_view bytes, LogBatch& batch);
  Admission Take(const DeleteRequest& request, std::string_view bytes, LogBatch& batch);
  Admission Take(const OpeningRequest& request, std::string_view bytes, LogBatch& batch);
  template <typename Other>
  Admission Take(const Other&, std::string_view bytes, LogBatch& batch) {
    batch.Add(bytes);
    return Admission::kAppend;
  }
  // A decision that asks for its event and window.
  struct Opening {
    DecisionRecord record;
    std::string_view bytes;
    CellContent cell{};
  };
  // Decisions of one user: opens all that are not open yet, or none.
  Admission Judge(std::vector<Opening> openings, LogBatch& batch);
  // kAppend: it may be opened, as far as it itself says.
  Admission CheckOpening(const DecisionRecord& record) const;
  void Open(const Opening& opening, LogBatch& batch);
  Admission JudgeOutcome(const OutcomeRecord& record, std::string_view bytes, LogBatch& batch);
  Admission JudgeReport(const ReportRecord& record, LogBatch& batch);
  Admission JudgeCounter(CounterRecord& record, LogBatch& batch);
  Admission JudgeContext(const ContextRecord& record, std::string_view bytes, LogBatch& batch);
  // kAppend, or why nothing more is learnt of the user whose event it is: the user was deleted.
  Admission CheckDeleted(std::string_view user, const PackedKeys& keys, absl::Time decided) const;
  Admission CheckDeleted(const CounterRecord& record) const;
  // Access for a change that Rollback can put back.
  DeletedUsers& ChangeDeleted();
  // Entries for the windows that close by `now`, or for all; their cells become free.
  void CloseWindows(absl::Time now, bool early, LogBatch& batch);
  // Leaves the steps that count, with their ids; the others are counted as what they are.
  RememberedIds SiftSteps(std::uint64_t newest, CounterRecord& record);
  // Whether so many events of the node or user may be counted.
  Admission CheckEvents(const EventRecord& event, std::uint64_t count);
  // Counts one event of the node or user, after a debit that pays for it; or says why not.
  Admission CountEvent(const EventRecord& event, LogBatch& batch);
  // Whether the node may have so many further events in this epoch.
  Admission CheckLimits(int node, std::uint64_t events);
  bool IsPooled(int node) const;
  // Updates budget(), which may have grown: by the use of the node, and of all together.
  void UseBudgetOf(int node);
  void UseBudgetOfAll();
  void UseBudget(std::uint64_t used);
  // Remembers the id. Returns what the log has to store with the record.
  RememberedIds Insert(const RememberedId& id);
  void CountVerdict(Admission verdict);
  // The verdict, noted as what lasts.
  Admission Refuse(RefusalReason reason, Admission verdict) {
    refusals_.Set(reason);
    return verdict;
  }
  void Publish();

  const Options options_;
  NewUsers users_;
  Counters& counters_;
  const std::function<void(const LogPosition&)> committed_;

  EntrySalts salts_{options_.salts_entries, *options_.bits};
  IdIndex ids_;
  ReportIds reports_;  // of the ids, those of context reports
  GateState state_;
  WindowTable windows_;

  // Since the last Commit or Rollback.
  struct Undo {
    std::vector<RememberedId> ids;
    std::uint64_t epoch = 1;
    absl::Time time;
    absl::Duration ahead;
    std::optional<DeletedUsers> deleted;  // before it was changed
    Fading fading;
  };
  Undo undo_;
  std::vector<DebitRecord> owed_{options_.owed};
  bool paying_ = false;  // since the last Commit or Rollback
  std::int64_t forget_before_ = INT64_MIN;
  Counters::Values staged_{};
  Counters::Values encoded_{};
  Counters::Values stored_{};

  GateRefusals refusals_;
  std::atomic<std::uint64_t> published_epoch_{1};
  std::atomic<std::uint64_t> published_ids_{0};
  std::atomic<std::uint64_t> windows_open_{0};
  std::atomic<std::uint64_t> events_max_{0};
  std::atomic<std::uint64_t> budget_used_{0};
  std::atomic<std::int64_t> oldest_bucket_{INT64_MAX};
};

}  // namespace bandana::server
