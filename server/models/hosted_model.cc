#include "server/models/hosted_model.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "bandana/v1/config.pb.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/user_nodes.h"
#include "common/model/entries/counters.h"
#include "common/model/learners/learner.h"
#include "common/model/state/event_path.h"
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
#include "server/models/catalogue/catalogue.h"
#include "server/models/effect_names.h"
#include "server/models/exported_file.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/export.h"
#include "server/models/folder/export_header.h"
#include "server/models/folder/publication.h"
#include "server/models/folder/recovery.h"
#include "server/models/freeing/key_freeing.h"
#include "server/models/freeing/pairs_watch.h"
#include "server/models/import_check.h"
#include "server/models/model.h"
#include "server/models/model_stats.h"
#include "server/models/users/user_table.h"

namespace bandana::server {
namespace {

struct ModelToExport {
  const std::string& folder;     // where the file is made
  std::uint64_t free_bytes = 0;  // there
  const v1::ModelConfig& config;
  const EventPath& path;
  std::string checkpoint;
  const WindowValues& values;  // StateToExport
  const Catalogue& catalogue;
  UserTable& users;
};

// A full disk stops learning, so room is looked for, and taken, before anything is written.
absl::StatusOr<TempFile> MakeRoom(const ModelToExport& model) {
  constexpr std::uint64_t kBytesPerUser = 256;
  const std::uint64_t bytes = model.checkpoint.size() + model.catalogue.bytes() +
                              model.users.size() * kBytesPerUser + model.config.ByteSizeLong();
  BANDANA_RETURN_IF_ERROR(CheckDisk("an export", bytes, 1, model.free_bytes, model.folder));
  BANDANA_ASSIGN_OR_RETURN(TempFile file, TempFile::Make(model.folder));
  BANDANA_RETURN_IF_ERROR(file.Reserve(bytes));
  return file;
}

// Memory: the decoded checkpoint, beside the given one for a moment. Everything else is written
// piece by piece. Errors: RESOURCE_EXHAUSTED the disk has no room for it; as WriteExport.
absl::StatusOr<ExportedFile> WriteModelExport(ModelToExport model) {
  BANDANA_ASSIGN_OR_RETURN(TempFile file, MakeRoom(model));
  BANDANA_ASSIGN_OR_RETURN(const Checkpoint state,
                           StateToExport(model.checkpoint, model.path, model.values));
  model.checkpoint = std::string();
  ExportSource source{.config = model.config,
                      .checkpoint = [&](const ByteSink& sink) { return EncodeAgain(state, sink); },
                      .catalogue = model.catalogue};
  if (model.users.has_users()) {
    source.users = [&](const ByteSink& sink) { return model.users.Encode(sink); };
  }
  BANDANA_RETURN_IF_ERROR(WriteExport(source, file));
  BANDANA_ASSIGN_OR_RETURN(const MappedFile map, file.Map());
  BANDANA_ASSIGN_OR_RETURN(v1::ExportHeader header, HeaderOfExport(map.bytes()));
  return ExportedFile{std::move(file), std::move(header)};
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
  checkpoints_ = std::make_unique<CheckpointWriter>(CheckpointWriter::Options{
      .store =
          StoreOptions(spec_, state_, options_.checkpoint_seal, options_.checkpoint_base_bytes_min),
      .warn = warn_,
      .stepped = options_.stepped,
      .last = [this] { return log_->last().sequence; },
      .trim =
          [this](std::uint64_t sequence) {
            if (decisions_ != nullptr) decisions_->Flush();
            if (part_ != nullptr) sequence = trims_.Due(clock_.Steady(), sequence);
            if (sequence > 0) writer_->TrimThrough(sequence);
          }});
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
  effects_ = recovered.state.effects;
  if (recovered.state.notes != nullptr) arm_notes_ = recovered.state.notes->parts();
  freeing_ = std::make_unique<EffectFreeing>(effects_, spec_.effects ? spec_.effects->pairs_max : 0,
                                             options_.stepped, warn_);
  BANDANA_RETURN_IF_ERROR(OpenDecisions(*log_, recovered.state.position.sequence, options_));
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
  std::vector<LeavingKeys*> sources = {&arms_->leaving()};
  if (LeavingKeys* const groups = user_groups_->leaving()) sources.push_back(groups);
  const auto append = [this](std::span<const EffectKey> keys) {
    return AppendAndWait(FreeRecord{.keys = keys}).status();
  };
  freeing_->Start(std::make_unique<KeyFreeing>(std::move(sources), kFreedKeysMax, append, warn_));
  return absl::OkStatus();
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

absl::StatusOr<std::shared_lock<std::shared_mutex>> Model::BeginChange() {
  std::shared_lock lock(changes_);
  if (retired_) return Retired();
  return lock;
}

void Model::Retire() {
  checkpoints_->Hurry();
  // Without a checkpoint the events since the last one are read from the log, which takes longer.
  if (const auto written = Checkpoint(); !written.ok()) {
    warn_(absl::StrCat("checkpoint: ", written.status().message()));
  }
  const std::lock_guard lock(changes_);
  retired_ = true;
  writer_->Close(Retired());
  StopLoop();
  CloseDecisions();
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

void Model::FinishTrimming() {
  const absl::Status done = Checkpoint().status();
  if (!done.ok()) warn_(absl::StrCat("checkpoint: ", done.message()));
}

absl::StatusOr<v1::CheckpointResponse> Model::Checkpoint() {
  BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
  Step();
  BANDANA_ASSIGN_OR_RETURN(const ApplyLoop::Captured captured, loop_->Capture());
  BANDANA_ASSIGN_OR_RETURN(const std::size_t bytes, checkpoints_->Write(*captured));
  Step();  // trims
  v1::CheckpointResponse response;
  response.set_log_sequence(captured->sequence());
  response.set_bytes(bytes);
  return response;
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
  const auto annotated = [&](const absl::Status& why) {
    return Annotate(why, absl::StrCat("model ", name));
  };
  absl::StatusOr<ModelSpec> made = AsMade(std::move(spec), folder, *options.log);
  if (!made.ok()) return annotated(made.status());
  auto model = std::make_unique<Model>(*std::move(made), folder, clock, options);
  const absl::Status started = model->Start();
  if (started.ok()) return model;
  return annotated(started);
}

}  // namespace bandana::server
