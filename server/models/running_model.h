// A model that this server owns, as it runs: decisions and reports come in, the log is written and
// applied, checkpoints are made. Model adds what changes it. Internal to hosted_model.cc.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/promise/mode.h"
#include "server/log/log_writer.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/report_gate.h"
#include "server/models/effect_names.h"
#include "server/models/folder/checkpoint_writer.h"
#include "server/models/freeing/effect_freeing.h"
#include "server/models/log_model.h"
#include "server/models/users/user_table.h"

namespace bandana::server {

class RunningModel : public LogModel<HostedModel> {
 public:
  std::int64_t term() const override { return log_->term(); }
  std::uint64_t epoch() const override { return gate_->epoch(); }

  absl::StatusOr<int> ResolveUser(std::string_view user) const override;
  void UserParts(std::string_view user, std::vector<EffectKey>& out) const override {
    user_groups_->Parts(user, out);
  }
  void NumberDecision(DecisionId& id) override {
    LogModel::NumberDecision(id);
    if (waiting_ != nullptr) waiting_->Answered(clock_.Now());
  }
  absl::Status RecordSlots(std::span<const Decision> slots) override;
  // In model_activation.cc.
  void Activate(std::vector<std::vector<Decision>> decisions, ReportDone done) override;
  void Report(std::vector<ReportedOutcome> outcomes, ReportDone done) override {
    Submit(std::move(outcomes), std::move(done));
  }
  void ReportContexts(std::vector<ReportedContext> reports, ReportDone done) override {
    Submit(std::move(reports), std::move(done));
  }
  void ReportCounters(std::vector<ReportedCounter> reports, ReportDone done) override {
    Submit(std::move(reports), std::move(done));
  }

  v1::GetStatsResponse Stats() const override;
  std::vector<EffectLook> Look(std::size_t count) const override {
    std::vector<EffectLook> looks = posterior()->Look(count);
    NameValues(*catalogue(), *user_groups_, sent_names_, looks);
    return looks;
  }
  std::optional<RewardTotals> rewards() const override { return counts_.rewards(); }
  std::optional<RewardSums> learnt_rewards() const override {
    if (learnt_ == nullptr) return std::nullopt;
    const RewardSums sums = learnt_->sums();
    return sums.count > 0 ? std::optional(sums) : std::nullopt;
  }
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
  int log_queue() const override { return writer_->queued(); }
  absl::Status Health() const override {
    absl::Status log = writer_->Health();
    if (!log.ok() && !Passes(log)) return log;
    BANDANA_RETURN_IF_ERROR(loop_->status());
    return log.ok() ? loop_->withheld() : log;
  }
  void Step() override {
    if (!options_.stepped) return;
    do {
      writer_->Step();
      loop_->Step();
    } while (writer_->due());
    freeing_->Step(clock_.Now());
    if (decisions_ != nullptr) decisions_->Step();
  }

 protected:
  RunningModel(ModelSpec spec, std::string folder, const Clock& clock,
               const HostedModelOptions& options)
      : LogModel(std::move(spec), std::move(folder), clock, options),
        options_(options),
        learnt_(LearntRewards::Of(spec_)) {}
  ~RunningModel() override {
    // The loop appends time entries: it ends before the writer. The writer tells the loop of its
    // last commits: it ends before the loop is destroyed.
    StopLoop();
    writer_.reset();
    loop_.reset();
    CloseDecisions();
  }

  const ModeRow& mode() const { return ModeOf(spec_.public_spec.mode); }
  absl::Status StartGate(const Recovered& recovered);
  void StartClock(const ModelState& state);
  absl::Status StartLoop(Recovered recovered);
  void StopLoop() {
    if (loop_ != nullptr) loop_->Stop();
    if (checkpoints_ != nullptr) checkpoints_->Finish();
    if (freeing_ != nullptr) freeing_->Finish();
  }
  // Appends one record and waits until it is durable and applied.
  absl::StatusOr<Admission> AppendAndWait(std::string record);
  absl::StatusOr<Admission> AppendAndWait(const Record& record) {
    return AppendAndWait(Encode(record));
  }
  // The error of a call that the gate could not decide about.
  absl::Status Undecided(Admission admission) const;
  // The values of the open windows that a report came for.
  absl::StatusOr<WindowValues> ReportedValues(std::optional<std::uint64_t> owner = std::nullopt);

  const HostedModelOptions options_;
  const std::unique_ptr<LearntRewards> learnt_;  // null: its rewards are not to be told
  Intake intake_;
  std::unique_ptr<UserTable> user_groups_;
  std::unique_ptr<UpdateLog> log_;
  std::unique_ptr<CellCodec> cells_;
  std::unique_ptr<WaitingDecisions> waiting_;  // null: each report's event waits for its window
  std::unique_ptr<ReportGate> gate_;
  std::unique_ptr<LogWriter> writer_;
  std::unique_ptr<CheckpointWriter> checkpoints_;
  std::unique_ptr<EffectFreeing> freeing_;

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

  // Where no window is closed here: the arms that the user was shown, where the model keeps them.
  void NoteShown(std::span<const Decision> slots);

  // The only way of reports: checked, queued, judged, answered.
  template <typename Reported>
  void Submit(std::vector<Reported> reports, ReportDone done);
  // On the writer's thread, when everything that was admitted is durable. Errors: see Report.
  absl::StatusOr<std::vector<ReportResult>> Answer(Asked asked,
                                                   std::span<const Admission> verdicts);
};

}  // namespace bandana::server
