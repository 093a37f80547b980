#include "server/models/running_model.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/design/user_nodes.h"
#include "common/model/learners/learner.h"
#include "common/promise/event_rule.h"
#include "common/promise/mode.h"
#include "common/random/bit_source.h"
#include "server/models/admission/gate_setup.h"
#include "server/models/admission/verdict.h"
#include "server/models/folder/publication.h"

namespace bandana::server {
namespace {

// The device's stream that the report is of, whose newest step the answer tells.
std::optional<StreamId> StreamOf(const ReportedCounter& report) { return report.stream; }
template <typename Reported>
std::optional<StreamId> StreamOf(const Reported&) {
  return std::nullopt;
}

}  // namespace

absl::Status RunningModel::StartGate(const Recovered& recovered) {
  BANDANA_ASSIGN_OR_RETURN(const std::optional<CellKey> key, path_->MakeCellKey());
  cells_ = std::make_unique<CellCodec>(instance_, key, SystemBits(), options_.kind_read);
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t issuer, SystemBits().NextWord());
  numbers_ =
      std::make_unique<DecisionNumbers>(ModeOf(spec_.public_spec.mode).numbers_decisions, issuer);
  if (CountsUnreported(spec_.public_spec)) {
    waiting_ = std::make_unique<WaitingDecisions>(issuer, spec_.public_spec.token_lifetime);
  }
  ReportGate::Options gate = GateOptions(spec_, *path_, *cells_);
  gate.waiting = waiting_.get();
  for (std::size_t node = 0; recovered.owed && node < recovered.owed->nodes; ++node) {
    DebitRecord& debit = gate.owed.emplace_back(recovered.owed->debit);
    debit.node = static_cast<std::int32_t>(node);
  }
  gate_ = std::make_unique<ReportGate>(
      std::move(gate), users_, counters_,
      [this](const LogPosition& last) { loop_->Committed(last.sequence); });
  BANDANA_RETURN_IF_ERROR(log_->ForEachId([this](const RememberedId& id) { gate_->Remember(id); }));
  BANDANA_RETURN_IF_ERROR(
      log_->ForEachChunk([this](const IdChunk& chunk) { gate_->Remember(chunk); }));
  gate_->ForgetBefore(log_->forgotten_before());
  gate_->Restore(GateStateOf(recovered.state, recovered.statistics));
  return gate_->RestoreWindows(recovered.state.windows, *log_, recovered.former);
}

void RunningModel::StartClock(const ModelState& state) {
  const absl::Time wall = clock_.Now();
  // Ids of the future, of a clock that was wrong, say nothing of the present.
  const absl::Time newest = std::max(NewestTimeOf(state), std::min(gate_->newest_id(), wall));
  clock_.Begin(newest, state.ahead);
  if (const absl::Duration ahead = clock_.ahead(); !SameAhead(ahead, state.ahead)) {
    warn_(
        absl::StrCat("the newest time in the log is ahead of the machine's clock: the model's "
                     "time runs on from there, ",
                     absl::FormatDuration(absl::Trunc(ahead, absl::Seconds(1))), " ahead"));
  }
}

absl::Status RunningModel::StartLoop(Recovered recovered) {
  BANDANA_ASSIGN_OR_RETURN(
      std::unique_ptr<Learner> learner,
      path_->MakeLearner(spec_, recovered.state, std::move(recovered.statistics)));
  ApplyLoop::Hooks hooks;
  hooks.append = [this](std::string record, std::function<void()> done) {
    return writer_->Submit({std::move(record)}, [done](const absl::Status&, auto) { done(); });
  };
  hooks.forget_due = [this] { return gate_->forget_due(); };
  hooks.clock = [this](absl::Time now) { freeing_->Look(now); };
  hooks.counters = [this] { return Counters::Encode(counters_.Get()); };
  hooks.checkpoint_wanted = [this] { return !checkpoints_->running(); };
  hooks.checkpoint = [this](ApplyLoop::Captured captured) {
    checkpoints_->Begin(std::move(captured));
  };
  const std::uint64_t epoch = recovered.state.epoch;
  ApplyLoop::Start start{.instance = instance_,
                         .fixed = FixedDigest(recovered.stored),
                         .state = std::move(recovered.state),
                         .checkpoint_sequence = recovered.checkpoint_sequence,
                         .published = recovered.published,
                         .unshown_epochs = recovered.owed ? epoch : 0};
  hooks.trace = options_.trace;
  hooks.publishing = [this](const ModelState& state) {
    return WritePublished(folder_, instance_, PublishedOf(state, options_.log->apart()));
  };
  hooks.applied = RewardHook();
  if (learnt_ != nullptr) {
    hooks.applied = [this, keep = std::move(hooks.applied)](std::span<const LogEntry> entries) {
      for (const LogEntry& entry : entries) learnt_->Applied(entry);
      if (keep) keep(entries);
    };
  }
  loop_ = std::make_unique<ApplyLoop>(spec_, *path_, *log_, users_, clock_, options_.tick_max,
                                      options_.rebuild_entries, std::move(learner),
                                      std::move(start), std::move(hooks));
  // Its thread tells the loop what it commits, the first time within a second: after it.
  LogWriter::Options writing;
  writing.stepped = options_.stepped;
  writing.kind_read = options_.kind_read;
  writer_ = std::make_unique<LogWriter>(*log_, *gate_, writing);
  if (!options_.stepped) loop_->Begin();
  return absl::OkStatus();
}

absl::StatusOr<int> RunningModel::ResolveUser(std::string_view user) const {
  return ResolveIn(spec_, *user_groups_, users_, user);
}

void RunningModel::NoteShown(std::span<const Decision> slots) {
  if (arm_notes_.seen == nullptr) return;
  const std::size_t user_parts = 1 + spec_.effects->user_groups.size();
  std::vector<EffectKey> arms;
  for (const Decision& slot : slots) {
    const std::vector<EffectKey>& keys = ArmOfRank(slot, slot.shown)->keys;
    if (keys.size() <= user_parts) return;  // of no model such as this one
    arms.push_back(keys[user_parts]);
  }
  const SeenRecord record{
      .time = slots.front().time, .user = slots.front().arms.front().keys.front(), .arms = arms};
  // Selections go on where the log takes nothing.
  writer_->Submit({Encode(record)}, nullptr).IgnoreError();
}

absl::Status RunningModel::RecordSlots(std::span<const Decision> slots) {
  std::optional<std::string> opening = OpeningOf(intake_, slots);
  if (!opening) {
    NoteShown(slots);
    return absl::OkStatus();
  }
  if (gate_->ids() + slots.size() > gate_->ids_max()) {
    gate_->refusals().Set(RefusalReason::kIds);
    return Unavailable("decisions_open_max = ", gate_->ids_max(), " decisions are open");
  }
  return writer_->Submit({*std::move(opening)}, nullptr);
}

template <typename Reported>
void RunningModel::Submit(std::vector<Reported> reports, ReportDone done) {
  const auto* check = std::get_if<CheckOf<Reported>>(&intake_);
  if (check == nullptr) {
    return done(
        FailedPrecondition("model ", spec_.public_spec.name, " takes reports of another kind"));
  }
  Asked asked{.results = std::vector<ReportResult>(reports.size())};
  std::vector<std::string> records;
  records.reserve(reports.size());
  asked.reports.reserve(reports.size());
  const absl::Time now = clock_.Now();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (const auto stream = StreamOf(reports[i])) asked.streams.push_back(*stream);
    auto checked = (*check)->Check(reports[i], now);
    if (const auto* reason = std::get_if<v1::RejectReason>(&checked)) {
      asked.results[i] = {.code = v1::REJECTED, .reason = *reason};
      CountRejected(v1::REJECTED, *reason, 1);
      continue;
    }
    auto& taken = std::get<CheckedReport>(checked);
    asked.reports.push_back({i, taken.counted});
    records.push_back(std::move(taken.request));
  }
  // Where a stream stands is known on the writer's thread.
  if (records.empty() && asked.streams.empty()) return done(std::move(asked.results));
  // Shared, because std::function copies; the queue calls exactly one of them.
  auto shared = std::make_shared<ReportDone>(std::move(done));
  auto finish = [this, shared, asked = std::move(asked)](
                    const absl::Status& status, std::span<const Admission> verdicts) mutable {
    (*shared)(status.ok() ? Answer(std::move(asked), verdicts) : status);
  };
  const absl::Status queued =
      writer_->Submit(std::move(records), std::move(finish), counts_.notice());
  if (!queued.ok()) (*shared)(queued);
}

absl::StatusOr<std::vector<ReportResult>> RunningModel::Answer(
    Asked asked, std::span<const Admission> verdicts) {
  for (std::size_t i = 0; i < asked.reports.size(); ++i) {
    const AskedReport& report = asked.reports[i];
    const std::optional<ReportResult> result = ResultOf(verdicts[i]);
    if (!result) return Undecided(verdicts[i]);
    asked.results[report.position] = *result;
    if (verdicts[i] != Admission::kAppend) continue;
    counts_.Taken(report.counted);
    if (const auto& counted = report.counted; counted.agreed) {
      apprentice_.Reported(*counted.agreed, counted.decided, counted.reward);
    }
  }
  for (std::size_t i = 0; i < asked.streams.size(); ++i) {
    asked.results[i].acknowledged_step = gate_->AcknowledgedStep(asked.streams[i]);
  }
  // A stream of a device ends by itself; one that runs here ends for the whole call.
  const bool exhausted = asked.streams.empty() && asked.reports.size() == asked.results.size() &&
                         std::all_of(verdicts.begin(), verdicts.end(), [](Admission verdict) {
                           return verdict == Admission::kExhausted;
                         });
  if (exhausted) return absl::FailedPreconditionError(path_->debits()->ExhaustedText());
  return std::move(asked.results);
}

absl::Status RunningModel::Undecided(Admission admission) const {
  if (admission == Admission::kUnsealed) return Unavailable("no randomness to seal a report with");
  return Unavailable("decisions_open_max = ", gate_->ids_max(),
                     " decisions are remembered; older ones must expire first");
}

absl::StatusOr<Admission> RunningModel::AppendAndWait(std::string record) {
  std::promise<absl::StatusOr<Admission>> promise;
  std::future<absl::StatusOr<Admission>> answer = promise.get_future();
  BANDANA_RETURN_IF_ERROR(writer_->Submit(
      {std::move(record)}, [&promise](const absl::Status& status, std::span<const Admission> one) {
        promise.set_value(status.ok() ? absl::StatusOr<Admission>(one.front()) : status);
      }));
  Step();
  absl::StatusOr<Admission> admission = answer.get();
  if (admission.ok() && *admission == Admission::kUnsealed) return Undecided(*admission);
  if (admission.ok() && *admission == Admission::kAppend) {
    BANDANA_RETURN_IF_ERROR(loop_->WaitApplied(log_->last().sequence));
  }
  return admission;
}

absl::StatusOr<WindowValues> RunningModel::ReportedValues(std::optional<std::uint64_t> owner) {
  WindowValues values;
  std::promise<absl::Status> done;
  BANDANA_RETURN_IF_ERROR(writer_->Submit({}, [&](const absl::Status& status, auto) {
    if (status.ok()) values = gate_->ReportedValues(owner);
    done.set_value(status);
  }));
  Step();
  BANDANA_RETURN_IF_ERROR(done.get_future().get());
  return values;
}

v1::GetStatsResponse RunningModel::Stats() const {
  v1::GetStatsResponse stats;
  FillStats(*log_, freeing_->freed_before(), stats);
  stats.set_epoch(gate_->epoch());
  stats.set_decisions_open(gate_->ids());
  stats.set_decisions_waiting(waiting_ != nullptr ? waiting_->Count(clock_.Now())
                                                  : gate_->windows_open());
  user_groups_->FillStats(stats);
  if (const auto sums = learnt_rewards()) FillRewards(*sums, *stats.mutable_rewards());
  return stats;
}

}  // namespace bandana::server
