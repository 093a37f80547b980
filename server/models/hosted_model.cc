#include "server/models/hosted_model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/user_nodes.h"
#include "common/model/entries/counters.h"
#include "common/model/learners/learner.h"
#include "common/promise/mechanism.h"
#include "common/promise/mode.h"
#include "common/random/bit_source.h"
#include "server/log/log_writer.h"
#include "server/models/admission/decision_numbers.h"
#include "server/models/admission/gate_setup.h"
#include "server/models/admission/open_counts.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/report_gate.h"
#include "server/models/admission/verdict.h"
#include "server/models/apply_loop.h"
#include "server/models/catalogue/arm_catalogue.h"
#include "server/models/effect_names.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/freeing/key_freeing.h"
#include "server/models/freeing/pairs_watch.h"
#include "server/models/model.h"
#include "server/models/model_export.h"
#include "server/models/model_stats.h"
#include "server/models/users/user_table.h"

namespace bandana::server {
namespace {

// The device's stream that the report is of, whose newest step the answer tells.
std::optional<StreamId> StreamOf(const ReportedCounter& report) { return report.stream; }
template <typename Reported>
std::optional<StreamId> StreamOf(const Reported&) {
  return std::nullopt;
}

absl::Status Retired() { return Unavailable("the model takes a change; try again"); }

}  // namespace

absl::Status Model::Start() {
  BANDANA_ASSIGN_OR_RETURN(Recovered recovered,
                           Recover(spec_, folder_,
                                   {.log = options_.log,
                                    .noise_key = options_.noise_key,
                                    .checkpoint_seal = options_.checkpoint_seal,
                                    .warn = warn_,
                                    .stepped = options_.stepped,
                                    .accept_lost = options_.accept_lost,
                                    .doubt = options_.doubt,
                                    .elsewhere = options_.elsewhere,
                                    .followed = options_.followed,
                                    .binding = options_.noise_binding},
                                   users_, counters_));
  BANDANA_RETURN_IF_ERROR(RemoveTempFiles(folder_));
  log_ = std::move(recovered.log);
  state_ = std::move(recovered.store);
  checkpoints_ = std::make_unique<CheckpointStore>(
      StoreOptions(spec_, state_, options_.checkpoint_seal, options_.checkpoint_base_bytes_min),
      warn_);
  path_ = std::move(recovered.path);
  intake_ = MakeIntake(spec_);
  instance_ = recovered.stored.instance;
  BANDANA_RETURN_IF_ERROR(StartGate(recovered));
  StartClock(recovered.state);
  const Identity stored = recovered.stored;
  const bool open_windows = !recovered.state.windows.all().empty();
  const bool owes = recovered.owed.has_value();
  const bool former_windows = open_windows && !recovered.former.empty();
  const std::uint64_t checkpoint_sequence = recovered.checkpoint_sequence;
  BANDANA_ASSIGN_OR_RETURN(std::optional<std::string> opening,
                           path_->Opening(spec_, recovered.state));
  const absl::Time fades = recovered.state.fading.NextEntry(spec_.half_life);
  BANDANA_ASSIGN_OR_RETURN(
      arms_, ArmCatalogue::Open(spec_, state_->Table(TableKind::kArms), counters_, clock_));
  arms_->Follow(recovered.state.effects);
  FollowEffects(recovered.state.effects);
  BANDANA_RETURN_IF_ERROR(StartLoop(std::move(recovered)));
  if (owes) BANDANA_RETURN_IF_ERROR(OpenEpoch().status());
  // Reports in the windows of a former checkpoint stand nowhere else.
  if (former_windows) BANDANA_RETURN_IF_ERROR(AppendAndWait(CloseRecord{.early = true}).status());
  if (opening) BANDANA_RETURN_IF_ERROR(AppendAndWait(*std::move(opening)).status());
  // PROOF: forgetting begin
  // Later events count from now on, by the present half-life. On a full disk the loop tries again.
  if (const absl::Time now = clock_.Now(); fades <= now) {
    const absl::Status faded = AppendAndWait(FadeRecord{now, spec_.half_life}).status();
    if (!faded.ok()) warn_(absl::StrCat("half_life: ", faded.message()));
  }
  // PROOF: forgetting end
  BANDANA_RETURN_IF_ERROR(KeepNodes());
  BANDANA_RETURN_IF_ERROR(AdoptChanges(stored, open_windows));
  if (log_->trimmed() < checkpoints_->LogGoneBefore(checkpoint_sequence)) FinishTrimming();
  FinishErasing();
  BANDANA_ASSIGN_OR_RETURN(user_groups_, UserTable::Open(spec_, state_->Table(TableKind::kUsers),
                                                         users_, warn_, clock_));
  StartFreeing();
  return absl::OkStatus();
}

absl::Status Model::StartGate(const Recovered& recovered) {
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

void Model::StartClock(const ModelState& state) {
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

absl::Status Model::StartLoop(Recovered recovered) {
  BANDANA_ASSIGN_OR_RETURN(
      std::unique_ptr<Learner> learner,
      path_->MakeLearner(spec_, recovered.state, std::move(recovered.statistics)));
  ApplyLoop::Hooks hooks;
  hooks.append = [this](std::string record, std::function<void()> done) {
    return writer_->Submit({std::move(record)}, [done](const absl::Status&, auto) { done(); });
  };
  hooks.forget_due = [this] { return gate_->forget_due(); };
  hooks.clock = [this](absl::Time now) { LookAtEffects(now); };
  hooks.counters = [this] { return Counters::Encode(counters_.Get()); };
  hooks.checkpoint_wanted = [this] { return !checkpoint_running_.load(); };
  hooks.checkpoint = [this](ApplyLoop::Captured captured) {
    checkpoint_running_ = true;
    auto write = [this, captured = std::move(captured)]() mutable {
      const absl::Status written = WriteCheckpoint(*captured).status();
      captured.reset();  // the task lives until the next checkpoint
      if (!written.ok()) warn_(absl::StrCat("checkpoint: ", written.message()));
      checkpoint_running_ = false;
    };
    if (options_.stepped) return write();
    checkpoint_task_ = std::async(std::launch::async, std::move(write));
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

void Model::FollowEffects(std::shared_ptr<const EffectsPosterior> effects) {
  if (effects == nullptr) return;
  effects_ = std::move(effects);
  freed_before_ = effects_->figures().freed;
  pairs_watch_ = std::make_unique<PairsWatch>(spec_.effects->pairs_max, warn_);
}

void Model::StartFreeing() {
  std::vector<LeavingKeys*> sources = {&arms_->leaving()};
  if (LeavingKeys* const groups = user_groups_->leaving()) sources.push_back(groups);
  const auto append = [this](std::span<const EffectKey> keys) {
    return AppendAndWait(FreeRecord{.keys = keys}).status();
  };
  freeing_ = std::make_unique<KeyFreeing>(std::move(sources), kFreedKeysMax, append, warn_);
  freeing_ready_ = true;
}

void Model::LookAtEffects(absl::Time now) {
  if (pairs_watch_ != nullptr) pairs_watch_->Look(effects_->pairs());
  if (options_.stepped || !TakeFreeing(now)) return;
  freeing_task_ = std::async(std::launch::async, [this, now] { Free(now); });
}

bool Model::TakeFreeing(absl::Time now) {
  return freeing_ready_ && freeing_->due(now) && !freeing_running_.exchange(true);
}

void Model::Free(absl::Time now) {
  freeing_->Run(now);
  freeing_running_ = false;
}

absl::Status Model::AdoptChanges(const Identity& stored, bool open_windows) {
  Identity configured = IdentityOf(spec_, instance_);
  configured.noise_key = stored.noise_key;
  if (configured.graph == stored.graph && configured.reward_window == stored.reward_window) {
    return absl::OkStatus();
  }
  if (configured.graph != stored.graph) {
    BANDANA_RETURN_IF_ERROR(AppendAndWait(GraphRecord{}).status());
  }
  // Outcomes are judged by the present window's length: none may be open with another one.
  if (configured.reward_window != stored.reward_window && open_windows) {
    BANDANA_RETURN_IF_ERROR(OpenEpoch().status());
  }
  return WriteIdentity(*state_, configured);
}

absl::StatusOr<int> Model::ResolveUser(std::string_view user) const {
  return ResolveIn(spec_, *user_groups_, users_, user);
}

absl::Status Model::RecordSlots(std::span<const Decision> slots) {
  std::optional<std::string> opening = OpeningOf(intake_, slots);
  if (!opening) return absl::OkStatus();
  if (gate_->ids() + slots.size() > gate_->ids_max()) {
    gate_->refusals().Set(RefusalReason::kIds);
    return Unavailable("decisions_open_max = ", gate_->ids_max(), " decisions are open");
  }
  return writer_->Submit({*std::move(opening)}, nullptr);
}

template <typename Reported>
void Model::Submit(std::vector<Reported> reports, ReportDone done) {
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

absl::StatusOr<std::vector<ReportResult>> Model::Answer(Asked asked,
                                                        std::span<const Admission> verdicts) {
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

absl::Status Model::Undecided(Admission admission) const {
  if (admission == Admission::kUnsealed) return Unavailable("no randomness to seal a report with");
  return Unavailable("decisions_open_max = ", gate_->ids_max(),
                     " decisions are remembered; older ones must expire first");
}

absl::StatusOr<Admission> Model::AppendAndWait(std::string record) {
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

absl::StatusOr<std::shared_lock<std::shared_mutex>> Model::BeginChange() {
  std::shared_lock lock(changes_);
  if (retired_) return Retired();
  return lock;
}

absl::Status Model::CheckUpdate(const ModelSpec& spec) const { return CheckStored(*state_, spec); }

void Model::Retire() {
  ++checkpoints_awaited_;
  // Without a checkpoint the events since the last one are read from the log, which takes longer.
  if (const auto written = Checkpoint(); !written.ok()) {
    warn_(absl::StrCat("checkpoint: ", written.status().message()));
  }
  const std::lock_guard lock(changes_);
  retired_ = true;
  writer_->Close(Retired());
  StopLoop();
}

absl::Status Model::PutGraph(const v1::Graph& graph) {
  BANDANA_RETURN_IF_ERROR(path_->CheckGraphChange(spec_.public_spec.name));
  BANDANA_ASSIGN_OR_RETURN(const Coupling coupling,
                           MakeCoupling(spec_.config, graph, spec_.public_spec.dimension));
  if (coupling.nodes() != spec_.coupling.nodes()) {
    return InvalidArgument("graph: has ", coupling.nodes(), " users, the model has ",
                           spec_.coupling.nodes(), " and keeps their number");
  }
  const std::string bytes = graph.SerializeAsString();
  return AppendAndWait(GraphRecord{.graph = bytes}).status();
}

absl::StatusOr<std::uint64_t> Model::OpenEpoch() {
  // Two calls at a time race for the number; the loser takes the next.
  for (;;) {
    const std::uint64_t next = gate_->epoch() + 1;
    BANDANA_ASSIGN_OR_RETURN(const Admission admission, AppendAndWait(EpochRecord{next}));
    if (admission == Admission::kAppend) return next;
  }
}

absl::Status Model::ConfirmClock() {
  clock_.Believe();
  // A restart finds it in the log.
  return AppendAndWait(TimeRecord{clock_.Now()}).status();
}

std::unique_lock<std::mutex> Model::LockCheckpoints() {
  ++checkpoints_awaited_;
  std::unique_lock lock(checkpoint_mutex_);
  --checkpoints_awaited_;
  return lock;
}

void Model::PaceCheckpoint(std::size_t bytes) {
  if (options_.stepped || checkpoints_awaited_ > 0) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  absl::SleepFor(checkpoint_pace_.WaitAfter(bytes, log_->last().sequence,
                                            absl::UnixEpoch() + absl::FromChrono(now)));
}

absl::StatusOr<std::size_t> Model::WriteCheckpoint(const FrozenCheckpoint& captured) {
  std::size_t size = 0;
  const ByteSource checkpoint = [&](const ByteSink& sink) {
    size = 0;
    return captured.Encode([&](std::string_view bytes) -> absl::Status {
      size += bytes.size();
      BANDANA_RETURN_IF_ERROR(sink(bytes));
      PaceCheckpoint(bytes.size());
      return absl::OkStatus();
    });
  };
  const std::lock_guard lock(checkpoint_mutex_);
  // A checkpoint taken before a deletion must not come back after it.
  if (captured.sequence() < newest_checkpoint_) return size;
  const Sha256Digest beside_the_log = captured.BesideTheLog();
  if (written_ && written_->sequence == captured.sequence() &&
      written_->beside_the_log == beside_the_log) {
    BANDANA_ASSIGN_OR_RETURN(const bool there, checkpoints_->Has(written_->sequence));
    if (there) return written_->bytes;
  }
  written_.reset();
  newest_checkpoint_ = captured.sequence();
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t older,
                           checkpoints_->Write(captured.sequence(), checkpoint));
  written_ = {captured.sequence(), beside_the_log, size};
  writer_->TrimThrough(older);
  return size;
}

void Model::FinishTrimming() {
  const absl::Status done = Checkpoint().status();
  if (!done.ok()) warn_(absl::StrCat("checkpoint: ", done.message()));
}

absl::StatusOr<v1::CheckpointResponse> Model::Checkpoint() {
  BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
  Step();
  BANDANA_ASSIGN_OR_RETURN(const ApplyLoop::Captured captured, loop_->Capture());
  BANDANA_ASSIGN_OR_RETURN(const std::size_t bytes, WriteCheckpoint(*captured));
  Step();  // trims
  v1::CheckpointResponse response;
  response.set_log_sequence(captured->sequence());
  response.set_bytes(bytes);
  return response;
}

absl::StatusOr<WindowValues> Model::ReportedValues(std::optional<std::uint64_t> owner) {
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

absl::StatusOr<ExportedFile> Model::ExportToFile() {
  Step();
  // Before the state: a window that closes in between is an event in it.
  BANDANA_ASSIGN_OR_RETURN(const WindowValues values,
                           path_->ReportsToCopy([this] { return ReportedValues(); }));
  BANDANA_ASSIGN_OR_RETURN(ApplyLoop::Captured captured, loop_->Capture());
  std::string checkpoint = captured->Encode();
  captured.reset();
  v1::ModelConfig config = spec_.config;
  config.clear_arms_file();
  const std::shared_ptr<const Catalogue> arms = catalogue();
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t free, options_.free_bytes(folder_));
  return WriteModelExport({.folder = folder_,
                           .free_bytes = free,
                           .config = config,
                           .path = *path_,
                           .checkpoint = std::move(checkpoint),
                           .values = values,
                           .catalogue = *arms,
                           .users = *user_groups_});
}

void Model::CountVectors(std::uint64_t arms, std::uint64_t clipped) {
  if (clipped > 0) counts_.FeaturesClipped(clipped);
  if (!values_.AddRaw(arms, clipped)) return;
  warn_(ClippedText(spec_));
}

v1::GetStatsResponse Model::Stats() const {
  v1::GetStatsResponse stats;
  FillCounters(counters_.Get(), stats);
  values_.FillStats(stats);
  FillProgress(*loop_, *log_, stats);
  stats.set_epoch(gate_->epoch());
  stats.set_arms(static_cast<std::uint32_t>(catalogue()->size()));
  stats.set_decisions_open(gate_->ids());
  stats.set_decisions_waiting(waiting_ != nullptr ? waiting_->Count(clock_.Now())
                                                  : gate_->windows_open());
  user_groups_->FillStats(stats);
  FillEffects(spec_, effects_.get(), freed_before_, stats);
  FillRefusals(Refusals(), stats);
  if (auto apprentice = apprentice_.Stats()) *stats.mutable_apprentice() = *std::move(apprentice);
  return stats;
}

absl::StatusOr<std::string> AdministeredModel::Export() {
  BANDANA_ASSIGN_OR_RETURN(const ExportedFile exported, ExportToFile());
  BANDANA_ASSIGN_OR_RETURN(const MappedFile map, exported.file.Map());
  return std::string(map.bytes());
}

absl::StatusOr<std::unique_ptr<HostedModel>> HostedModel::Open(ModelSpec spec,
                                                               const std::string& folder,
                                                               const Clock& clock,
                                                               const HostedModelOptions& options) {
  const std::string name = spec.public_spec.name;
  auto model = std::make_unique<Model>(std::move(spec), folder, clock, options);
  const absl::Status started = model->Start();
  if (started.ok()) return model;
  return Annotate(started, absl::StrCat("model ", name));
}

}  // namespace bandana::server
