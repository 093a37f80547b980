// The thread that turns a model's durable log into statistics, posterior and published snapshots.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/shared_cell.h"
#include "common/design/model_spec.h"
#include "common/model/entries/user_index.h"
#include "common/model/learners/learner.h"
#include "common/model/state/model_state.h"
#include "common/ranking/posterior.h"
#include "server/log/update_log.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/log_clock.h"
#include "server/models/replicas/standing.h"

namespace bandana::server {

// Threads: all public methods are safe. Owns the statistics and the state; nobody else reads them.
class ApplyLoop {
 public:
  // A checkpoint, to be encoded by whoever writes it: not on the loop's thread.
  using Captured = std::shared_ptr<const FrozenCheckpoint>;
  // Called on the loop's thread; none may block.
  struct Hooks {
    // Appends an entry of the clock; where OK, `done` is called when it is durable or has failed.
    std::function<absl::Status(std::string record, std::function<void()> done)> append;
    std::function<absl::Time()> forget_due;  // when the oldest ids are over
    std::function<void(absl::Time now)>
        clock;  // at each look at the clock, for what is not the loop's
    std::function<std::string()> counters;
    std::function<bool()> checkpoint_wanted;  // false while one is being written
    std::function<void(Captured)> checkpoint;
    // Central models: makes the state's position durable as published, before it is.
    std::function<absl::Status(const ModelState&)> publishing;
    std::function<void(std::string_view step)> trace;  // HostedModelOptions
    // Told of entries in their order, as they are applied. May be null.
    std::function<void(std::span<const LogEntry> entries)> applied;
  };
  struct Start {
    InstanceId instance{};
    Sha256Digest fixed{};
    ModelState state;
    std::uint64_t checkpoint_sequence = 0;  // of the newest checkpoint
    LogPosition published;                  // central models
    std::uint64_t unshown_epochs = 0;       // nothing is published before a greater epoch
  };

  // All references must outlive the loop. `learner` is the path's at `start.state`.
  ApplyLoop(const ModelSpec& spec, const EventPath& path, const LogReader& log, UserIndex& users,
            LogClock& clock, absl::Duration tick_max, std::uint64_t rebuild_entries,
            std::unique_ptr<Learner> learner, Start start, Hooks hooks);
  ~ApplyLoop();
  ApplyLoop(const ApplyLoop&) = delete;
  ApplyLoop& operator=(const ApplyLoop&) = delete;
  // Starts the thread. Call once; without it Step does the work.
  void Begin();
  // Without the thread: does all that is due now.
  void Step();
  // Ends the thread; what waits gets UNAVAILABLE. Idempotent.
  void Stop();

  // Everything up to the sequence is durable.
  void Committed(std::uint64_t sequence);

  std::shared_ptr<const ServedPosterior> posterior() const { return posterior_.load(); }
  std::uint64_t applied() const { return applied_.load(std::memory_order_acquire); }
  // As of applied().
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // The ledger as of applied().
  std::shared_ptr<const Ledger> ledger() const { return ledger_.load(); }
  struct Figures {
    int nodes = 0;
    // Released Gram matrices that had to be made positive semidefinite, since the start.
    std::uint64_t grams_repaired = 0;
    // Models of arms with LIL_UCB: the arm, once it is identified.
    std::optional<std::uint32_t> best_arm;
  };
  Figures figures() const;
  // Standing::released.
  std::vector<ReleasedBy> released() const;
  // OK, or why nothing is applied any more.
  absl::Status status() const;
  // OK; RESOURCE_EXHAUSTED while a central model cannot make a position durable as published: what
  // it published before stays, and it tries again.
  absl::Status withheld() const;

  // Waits until the entry is in the published posterior.
  absl::Status WaitApplied(std::uint64_t sequence);
  // The state once everything that is durable now is applied.
  absl::StatusOr<Captured> Capture();
  // Calls `look` on the loop's thread once everything that is durable now is applied, and returns
  // when it has returned. Nothing waits to be flushed then. Errors: as Capture; then `look` was not
  // called.
  using Looker = std::function<void(const ModelState&, const Learner&)>;
  absl::Status Look(Looker look);

 private:
  struct CaptureRequest {
    std::uint64_t sequence;
    std::promise<absl::StatusOr<Captured>> result;
    Looker look;  // in the place of a checkpoint
  };

  void Run();
  // Whether the loop has work that does not wait for a time. Requires mutex_.
  bool HasWork() const;
  // One block of entries up to `through`, what the clock asks for, and the captures that are ready.
  void Pass(std::uint64_t through);
  // Without the thread a waiting caller does its work.
  void StepForWaiter() {
    if (!threaded_) Step();
  }
  // How long nothing will be due.
  absl::Duration IdleTime();
  absl::Status ApplyBlock(std::uint64_t through);
  void Trace(std::string_view step) const {
    if (hooks_.trace) hooks_.trace(step);
  }
  // At the sequences where a recomputation begins, or is taken.
  absl::Status RemoveDrift();
  absl::Status RefreshLearner();
  bool RefreshDue();
  // Notes what the noise of the releases is a function of, at entries at which every server does.
  void NoteReleased();
  // Takes releases into the posterior and publishes it.
  absl::Status Refresh();
  absl::Status Publish();
  // Makes the position durable as published, unless it is.
  absl::Status PersistPublication();
  void Tick();
  void TickClock(absl::Time now);
  // When a time entry is due.
  absl::Time TimeDue() const;
  // Asks for the entry, unless one of its kind is on its way or was asked for just now.
  struct ClockEntry {
    std::atomic<bool> in_flight{false};
    absl::Time not_before = absl::InfinitePast();
  };
  void AppendDue(absl::Time now, absl::Time due, const Record& record, ClockEntry& entry);
  void ServeCaptures();
  absl::StatusOr<Captured> Ask(Looker look);
  Captured CaptureNow() const;

  const ModelSpec& spec_;
  const EventPath& path_;
  const LogReader& log_;
  UserIndex& users_;
  LogClock& clock_;
  const absl::Duration tick_max_;
  const std::uint64_t rebuild_entries_;
  const absl::Duration tick_min_;
  const Hooks hooks_;
  const InstanceId instance_;
  const Sha256Digest fixed_;

  // Used by the loop's thread alone.
  std::unique_ptr<Learner> learner_;
  ModelState state_;
  LogPosition published_;  // central models
  const std::uint64_t unshown_epochs_;
  absl::Time refreshed_ = absl::InfinitePast();  // by the steady clock, as checkpoint_time_
  std::uint64_t ledger_debits_ = 0;              // of the published ledger
  std::vector<int> unpublished_;                 // nodes whose newest posterior was withheld
  std::vector<LogEntry> entries_;
  absl::Time checkpoint_time_;
  const absl::Time begun_;
  std::uint64_t checkpoint_sequence_;

  std::atomic<bool> posterior_fresh_{true};  // it holds all that is applied
  ClockEntry time_entry_;
  ClockEntry clock_entry_;
  ClockEntry fade_entry_;  // of a model that forgets
  SharedCell<const ServedPosterior> posterior_;
  SharedCell<const Ledger> ledger_;
  std::atomic<std::uint64_t> applied_{0};
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<int> nodes_{0};
  std::atomic<std::uint64_t> grams_repaired_{0};
  std::atomic<std::int64_t> best_arm_{-1};

  mutable std::mutex mutex_;
  std::condition_variable wake_;      // the loop
  std::condition_variable progress_;  // those who wait for it
  std::uint64_t committed_ = 0;
  std::vector<CaptureRequest> captures_;
  absl::Status status_;
  absl::Status withheld_;
  std::vector<ReleasedBy> released_;
  absl::Time released_at_ = absl::InfinitePast();  // of the loop's thread
  int waiters_ = 0;                                // who must not wait for the refresh interval
  bool stop_ = false;
  bool threaded_ = false;
  std::thread thread_;
};

}  // namespace bandana::server
