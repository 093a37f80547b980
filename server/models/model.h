// The one HostedModel, in hosted_model.cc: who owns what, and in which order it starts and ends.
// Internal to it.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/design/family.h"
#include "common/model/entries/counters.h"
#include "common/model/entries/records.h"
#include "common/model/state/event_path.h"
#include "common/promise/event_rule.h"
#include "common/promise/mode.h"
#include "server/log/log_writer.h"
#include "server/models/admission/apprentice.h"
#include "server/models/admission/decision_numbers.h"
#include "server/models/admission/open_counts.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/report_gate.h"
#include "server/models/admission/value_counts.h"
#include "server/models/apply_loop.h"
#include "server/models/catalogue/arm_catalogue.h"
#include "server/models/effect_names.h"
#include "server/models/folder/checkpoint_pace.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/freeing/key_freeing.h"
#include "server/models/freeing/pairs_watch.h"
#include "server/models/hosted_model.h"
#include "server/models/log_clock.h"
#include "server/models/model_stats.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

class Model final : public HostedModel {
 public:
  Model(ModelSpec spec, std::string folder, const Clock& clock, const HostedModelOptions& options)
      : spec_(std::move(spec)),
        folder_(std::move(folder)),
        clock_(clock, options.clock_ahead_max),
        options_(options),
        warn_(options.warn ? options.warn : [](const std::string&) {}) {}

  ~Model() override {
    // The loop appends time entries: it ends before the writer. The writer tells the loop of its
    // last commits: it ends before the loop is destroyed.
    StopLoop();
    writer_.reset();
  }

  // Recovers the folder and begins to serve. Errors: HostedModel::Open's.
  absl::Status Start();

  const ModelSpec& spec() const override { return spec_; }
  const Sha256Digest& policy() const override { return policy_; }
  const InstanceId& instance() const override { return instance_; }
  std::int64_t term() const override { return log_->term(); }
  std::vector<ReleasedBy> Released() const override { return loop_->released(); }
  std::uint64_t epoch() const override { return gate_->epoch(); }
  absl::Time TimeAt(absl::Time /*now*/) const override { return clock_.Now(); }
  absl::Status ConfirmClock() override;
  std::shared_ptr<const ServedPosterior> posterior() const override { return loop_->posterior(); }
  std::shared_ptr<const Catalogue> catalogue() const override { return arms_->catalogue(); }

  absl::StatusOr<int> ResolveUser(std::string_view user) const override;
  void UserParts(std::string_view user, std::vector<EffectKey>& out) const override {
    user_groups_->Parts(user, out);
  }
  void NumberDecision(DecisionId& id) override {
    numbers_->Put(id);
    if (waiting_ != nullptr) waiting_->Answered(clock_.Now());
  }
  absl::Status RecordSlots(std::span<const Decision> slots) override;
  void Activate(std::vector<std::vector<Decision>> decisions, ReportDone done) override;
  void CountBaseline(bool agreed) override { apprentice_.Decided(agreed); }
  void Report(std::vector<ReportedOutcome> outcomes, ReportDone done) override {
    Submit(std::move(outcomes), std::move(done));
  }
  void ReportContexts(std::vector<ReportedContext> reports, ReportDone done) override {
    Submit(std::move(reports), std::move(done));
  }
  void ReportCounters(std::vector<ReportedCounter> reports, ReportDone done) override {
    Submit(std::move(reports), std::move(done));
  }
  void CountRejected(v1::OutcomeCode code, v1::RejectReason reason, std::uint64_t count) override {
    counts_.Rejected(code, reason, count);
  }
  void CountVectors(std::uint64_t arms, std::uint64_t clipped) override;
  void CountValues(std::span<const FieldCount> counts) override { values_.Add(counts); }

  absl::Status PutArms(std::span<const CatalogueArm> arms, v1::PutArmsResponse* out) override {
    if (!mode().no_catalogue.empty()) {
      return FailedPrecondition("model ", spec_.public_spec.name, " is ",
                                ToAbsl(mode().no_catalogue));
    }
    BANDANA_RETURN_IF_ERROR(FamilyOf(spec_).CheckCatalogue(spec_));
    BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
    return arms_->Put(arms, out);
  }
  absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(std::span<const std::uint32_t> ids) override {
    BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
    return arms_->Remove(ids);
  }
  absl::StatusOr<UserBatch> NewUsers() const override { return user_groups_->NewBatch(); }
  // In model_users.cc.
  absl::Status PutUsers(UserBatch& batch, v1::PutUsersResponse* out) override;
  absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(std::span<const std::string> ids) override;
  absl::StatusOr<v1::ListUsersResponse> ListUsers(std::string_view after,
                                                  std::uint32_t limit) const override;
  absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string& id) override;
  absl::Status PutGraph(const v1::Graph& graph) override;
  absl::StatusOr<std::uint64_t> OpenEpoch() override;
  absl::StatusOr<v1::CheckpointResponse> Checkpoint() override;
  absl::StatusOr<ExportedFile> ExportToFile() override;
  v1::GetStatsResponse Stats() const override;
  std::vector<EffectLook> Look(std::size_t count) const override {
    std::vector<EffectLook> looks = posterior()->Look(count);
    NameValues(*catalogue(), *user_groups_, looks);
    return looks;
  }
  std::optional<RewardTotals> rewards() const override { return counts_.rewards(); }
  std::optional<WindowPlaces> places() const override { return counts_.places(); }
  v1::GetLedgerResponse Ledger() const override {
    return LedgerOf(spec_.public_spec,
                    {.events = counters_.Get()[Counters::kApplied],
                     .events_of_one = gate_->events_of_one_max(),
                     .epoch = gate_->epoch(),
                     .debits = *path_->debits(),
                     .stream = path_->stream_cost(),
                     .event = path_->event_cost()},
                    *loop_->ledger());
  }
  std::optional<BudgetUse> Budget() const override { return gate_->budget(); }
  std::vector<LastingRefusal> Refusals() const override {
    return RefusalsOf(gate_->refusals(), gate_->limits(), Health(), clock_.Disbelieved());
  }
  absl::Status CheckUpdate(const ModelSpec& spec) const override;
  absl::Status StoreConfig(const v1::ModelConfig& config) override {
    return WriteStoredConfig(*state_, config);
  }
  void Retire() override;
  int log_queue() const override { return writer_->queued(); }
  void Step() override {
    if (!options_.stepped) return;
    do {
      writer_->Step();
      loop_->Step();
    } while (writer_->due());
    if (TakeFreeing(clock_.Now())) Free(clock_.Now());
  }
  absl::Status Health() const override {
    absl::Status log = writer_->Health();
    if (!log.ok() && !Passes(log)) return log;
    BANDANA_RETURN_IF_ERROR(loop_->status());
    return log.ok() ? loop_->withheld() : log;
  }

 private:
  // A report that asked for entry.
  struct AskedReport {
    std::size_t position;  // in the call
    CountedReport counted;
  };
  struct Asked {
    std::vector<ReportResult> results;  // one per report of the call
    std::vector<AskedReport> reports;   // one per record
    std::vector<StreamId> streams;      // one per report of a device's stream
  };

  // The only way of reports: checked, queued, judged, answered.
  template <typename Reported>
  void Submit(std::vector<Reported> reports, ReportDone done);
  // On the writer's thread, when everything that was admitted is durable. Errors: see Report.
  absl::StatusOr<std::vector<ReportResult>> Answer(Asked asked,
                                                   std::span<const Admission> verdicts);
  void StopLoop() {
    if (loop_ != nullptr) loop_->Stop();
    ++checkpoints_awaited_;
    if (checkpoint_task_.valid()) checkpoint_task_.wait();
    if (freeing_task_.valid()) freeing_task_.wait();
  }
  // The lock that a change holds until it is done. Errors: UNAVAILABLE the model is retired.
  absl::StatusOr<std::shared_lock<std::shared_mutex>> BeginChange();
  const ModeRow& mode() const { return ModeOf(spec_.public_spec.mode); }
  absl::Status StartGate(const Recovered& recovered);
  void StartClock(const ModelState& state);
  absl::Status StartLoop(Recovered recovered);
  absl::Status AdoptChanges(const Identity& stored, bool open_windows);
  // Those whom the configuration names keep their nodes from now on.
  absl::Status KeepNodes();
  // Appends one record and waits until it is durable and applied.
  absl::StatusOr<Admission> AppendAndWait(std::string record);
  absl::StatusOr<Admission> AppendAndWait(const Record& record) {
    return AppendAndWait(Encode(record));
  }
  void FollowEffects(std::shared_ptr<const EffectsPosterior> effects);
  void StartFreeing();
  // On the loop's thread, at each of its looks at the clock.
  void LookAtEffects(absl::Time now);
  // Whether effects are to be freed now, by the caller.
  bool TakeFreeing(absl::Time now);
  void Free(absl::Time now);
  // For one that cannot wait until others have taken their time.
  std::unique_lock<std::mutex> LockCheckpoints();
  // After so many bytes of one are encoded, and written where they have changed.
  void PaceCheckpoint(std::size_t bytes);
  // Encodes and writes it, unless it is there already, and trims the log. Returns its length.
  absl::StatusOr<std::size_t> WriteCheckpoint(const FrozenCheckpoint& captured);
  // Raw rewards that a checkpoint holds stand in the log because the last run ended in between.
  void FinishTrimming();
  // Forgets what the log has learnt of these users.
  absl::Status DeleteByEntry(std::span<const std::string> ids);
  // No file of the folder has the bytes of what the state has forgotten: one checkpoint of now,
  // twice, and no entry before it. Errors: UNAVAILABLE; it is done at the next start then.
  absl::Status EraseForgotten();
  // At the start: what a deletion has left to do.
  void FinishErasing();
  // The sums of the node that is the user's alone.
  absl::Status FillNode(int node, v1::ExportUserResponse& out);
  absl::Status FillEntries(const std::string& id, v1::ExportUserResponse& out) const;
  // The error of a call that the gate could not decide about.
  absl::Status Undecided(Admission admission) const;
  // The values of the open windows that a report came for.
  absl::StatusOr<WindowValues> ReportedValues(std::optional<std::uint64_t> owner = std::nullopt);
  // Fills in the values of open windows of the user that a report came for.
  absl::Status FillHeld(const std::string& id, v1::ExportUserResponse& out);

  std::shared_mutex changes_;  // shared by changes, held alone by Retire
  bool retired_ = false;

  const ModelSpec spec_;
  const Sha256Digest policy_{spec_.public_spec.PolicyHash()};
  const std::string folder_;
  LogClock clock_;
  const HostedModelOptions options_;
  const WarningSink warn_;

  InstanceId instance_{};
  std::unique_ptr<const EventPath> path_;
  Intake intake_;
  std::shared_ptr<StateStore> state_;
  UserIndex users_;
  Counters counters_;
  OpenCounts counts_{spec_, counters_};
  ValueCounts values_{spec_.public_spec};
  Apprentice apprentice_{spec_, clock_.Now()};
  std::unique_ptr<ArmCatalogue> arms_;
  std::unique_ptr<UserTable> user_groups_;
  std::shared_ptr<const EffectsPosterior> effects_;  // of models of effects
  std::uint64_t freed_before_ = 0;                   // keys, as the log was replayed
  std::unique_ptr<UpdateLog> log_;
  std::unique_ptr<ApplyLoop> loop_;
  std::unique_ptr<CellCodec> cells_;
  std::unique_ptr<DecisionNumbers> numbers_;
  std::unique_ptr<WaitingDecisions> waiting_;  // null: each report's event waits for its window
  std::unique_ptr<ReportGate> gate_;
  std::unique_ptr<LogWriter> writer_;

  std::mutex deletions_;                     // one at a time
  std::atomic<int> checkpoints_awaited_{0};  // by so many who cannot wait: none takes its time
  std::mutex checkpoint_mutex_;              // for what follows
  CheckpointPace checkpoint_pace_;
  std::unique_ptr<CheckpointStore> checkpoints_;
  std::uint64_t newest_checkpoint_ = 0;  // written by this process
  struct WrittenCheckpoint {
    std::uint64_t sequence = 0;
    Sha256Digest beside_the_log{};
    std::size_t bytes = 0;
  };
  std::optional<WrittenCheckpoint> written_;  // the newest, once it is whole
  std::atomic<bool> checkpoint_running_{false};
  std::future<void> checkpoint_task_;  // of the loop's thread until it has stopped

  std::unique_ptr<PairsWatch> pairs_watch_;  // of the loop's thread
  std::unique_ptr<KeyFreeing> freeing_;
  std::atomic<bool> freeing_ready_{false};
  std::atomic<bool> freeing_running_{false};
  std::future<void> freeing_task_;  // as checkpoint_task_
};

}  // namespace bandana::server
