// Which records enter a model's log: each decision once, in time, in its epoch, within its user's
// limit. A function of the entries before, so that every reader of the log agrees. Reports of open
// decisions enter nothing: they overwrite the decision's cell, and the entry that closes the window
// has what the cell holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/model/entries/counters.h"
#include "common/model/entries/records.h"
#include "common/model/entries/user_index.h"
#include "common/model/state/epoch_events.h"
#include "common/model/state/log_facts.h"
#include "common/model/state/stream_table.h"
#include "common/model/state/window_table.h"
#include "server/log/id_index.h"
#include "server/log/log_writer.h"
#include "server/log/update_log.h"
#include "server/models/admission/entry_salts.h"
#include "server/models/admission/gate_figures.h"
#include "server/models/admission/new_users.h"
#include "server/models/admission/payments.h"

namespace bandana::server {

// An id belongs to the time bucket in which it came first, whenever it comes again. Not
// thread-safe. Memory: about 30 bytes per id; forgotten ones go once they are the half.
class ReportIds {
 public:
  // The bucket of an id that is not forgotten.
  std::optional<std::int64_t> BucketOf(const EntryId& id) const {
    const auto it = buckets_.find(id);
    if (it == buckets_.end() || it->second < forgotten_before_) return std::nullopt;
    return it->second;
  }
  void Insert(const EntryId& id, std::int64_t bucket) { buckets_[id] = bucket; }
  void Remove(const EntryId& id) { buckets_.erase(id); }
  // `live`: ids at or after the bucket.
  void ForgetBefore(std::int64_t bucket, std::uint64_t live) {
    forgotten_before_ = std::max(forgotten_before_, bucket);
    if (buckets_.size() < 2 * live + 1000) return;
    absl::erase_if(buckets_,
                   [this](const auto& entry) { return entry.second < forgotten_before_; });
  }

 private:
  absl::flat_hash_map<EntryId, std::int64_t> buckets_;
  std::int64_t forgotten_before_ = INT64_MIN;
};

// The gate's knowledge of the entries before, beside ids and windows.
struct GateState {
  LogFacts facts;
  EpochEvents events;
  StreamTable streams;  // of the devices
  Payments payments;
};

// Threads: Restore and Remember before the writer starts, then the AppendGate methods on the
// writer's thread; GateFigures from any thread.
class ReportGate final : public AppendGate, public GateFigures {
 public:
  using Options = ReportGateOptions;
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

  // The end of the newest bucket of ids; InfinitePast without any. On the writer's thread.
  absl::Time newest_id() const;
  // Newest durable step of a device's stream, 0 = unknown. On the writer's thread.
  std::uint64_t AcknowledgedStep(const StreamId& stream) const;
  // The values of open windows that a report came for: of all, or of this OwnerOf. On the writer's
  // thread.
  WindowValues ReportedValues(std::optional<std::uint64_t> owner = std::nullopt) const;

 private:
  // Judges one record and counts the verdict.
  struct Taker;
  // A decision that asks for its event and window.
  struct Opening {
    DecisionRecord record;
    std::string_view bytes;
    CellContent cell{};
  };
  // Decisions of one user: opens all that are not open yet, or none.
  Admission JudgeOpenings(std::vector<Opening> openings, LogBatch& batch);
  // kAppend: it may be opened, as far as it itself says.
  Admission CheckOpening(const DecisionRecord& record) const;
  void Open(const Opening& opening, LogBatch& batch);
  Admission JudgeOutcome(const OutcomeRecord& record, std::string_view bytes, LogBatch& batch);
  Admission JudgeReport(const ReportRecord& record, LogBatch& batch);
  Admission JudgeCounter(CounterRecord& record, LogBatch& batch);
  Admission JudgeContext(const ContextRecord& record, std::string_view bytes, LogBatch& batch);
  Admission JudgeTime(const TimeRecord& record, std::string_view bytes, LogBatch& batch);
  Admission JudgeEpoch(const EpochRecord& record, std::string_view bytes, LogBatch& batch);
  Admission JudgeDeletion(const DeleteRequest& request, LogBatch& batch);
  // kAppend, or why nothing more is learnt of the user whose event it is: the user was deleted.
  Admission CheckDeleted(std::string_view user, const PackedKeys& keys, absl::Time decided) const;
  Admission CheckDeleted(const CounterRecord& record) const;
  // Access for an entry that Rollback can take back.
  LogFacts& ChangeFacts();
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
  // Remembers the id. Returns what the log has to store with the record.
  RememberedIds Insert(const RememberedId& id);
  void CountVerdict(Admission verdict);
  // The verdict, noted as what lasts.
  Admission Refuse(RefusalReason reason, Admission verdict) {
    refusals().Set(reason);
    return verdict;
  }

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
    std::optional<LogFacts> facts;  // before they were changed
  };
  Undo undo_;
  std::vector<DebitRecord> owed_{options_.owed};
  bool paying_ = false;  // since the last Commit or Rollback
  std::int64_t forget_before_ = INT64_MIN;
  Counters::Values staged_{};
  Counters::Values encoded_{};
  Counters::Values stored_{};
};

}  // namespace bandana::server
