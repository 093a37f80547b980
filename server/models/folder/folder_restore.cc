#include "server/models/folder/folder_restore.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/file.h"
#include "common/base/removal.h"
#include "common/base/status.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/event_sink.h"
#include "common/random/bit_source.h"
#include "server/log/log_engine.h"
#include "server/log/log_reader.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/export.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "server/models/freeing/leaving_keys.h"
#include "server/models/users/user_copy.h"

namespace bandana::server {
namespace {

namespace fs = std::filesystem;

class Restorer {
 public:
  Restorer(const ModelSpec& spec, const RestoreOptions& options)
      : spec_(spec),
        options_(options),
        folder_(options.data_dir + "/models/" + spec.public_spec.name),
        half_made_(options.data_dir + "/models/.new-" + spec.public_spec.name) {}

  absl::StatusOr<Restored> Run() {
    BANDANA_RETURN_IF_ERROR(FindState());
    BANDANA_RETURN_IF_ERROR(FindStart());
    BANDANA_ASSIGN_OR_RETURN(const auto path,
                             MakePath(spec_, checkpoint_.instance, options_.noise_key));
    if (from_nothing_) SetEmpty(*path);
    BANDANA_RETURN_IF_ERROR(RestoreStreams(*path, checkpoint_));
    BANDANA_RETURN_IF_ERROR(Replay(*path));
    absl::Status made = MakeFolder(*path);
    if (made.ok()) made = Swap();
    if (!made.ok()) RemoveHalfMade().IgnoreError();  // the next start removes it
    if (!made.ok()) return made;
    return std::move(result_);
  }

 private:
  void Note(const absl::Status& status) { result_.notes.emplace_back(status.message()); }

  // On a machine that has no folder of it, the model that the store knows by name.
  absl::Status FindState() {
    BANDANA_RETURN_IF_ERROR(TakeFromStore(folder_, *options_.log));
    BANDANA_ASSIGN_OR_RETURN(state_, OldEngine().OpenState(folder_, /*draws_noise=*/false));
    return absl::OkStatus();
  }

  // The identity file may be damaged: its fixed lines follow from the configuration, and the
  // instance is in the checkpoint.
  absl::Status FindStart() {
    const CheckpointStore store({.state = state_, .seal = options_.checkpoint_seal},
                                [](const std::string&) {});
    BANDANA_ASSIGN_OR_RETURN(const std::vector<CheckpointFile> files, store.Files());
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      if (options_.through && file->sequence > *options_.through) continue;
      absl::StatusOr<Checkpoint> checkpoint = store.Load(*file);
      if (absl::IsFailedPrecondition(checkpoint.status())) return checkpoint.status();
      if (!checkpoint.ok()) {
        Note(checkpoint.status());
      } else if (!Fits(*checkpoint)) {
        return InvalidArgument(store.Path(*file),
                               " is of a model with another configuration (identity tells which)");
      } else {
        checkpoint_ = *std::move(checkpoint);
        BANDANA_RETURN_IF_ERROR(CheckFormer(IdentityOf(spec_, {})));
        result_.checkpoint = file->sequence;
        return absl::OkStatus();
      }
    }
    return StartEmpty();
  }

  // Where the configuration leaves something open, the checkpoint says it.
  bool Fits(const Checkpoint& checkpoint) {
    if (IsOfModel(checkpoint, IdentityOf(spec_, {}))) return true;
    KeepMade({}, spec_);
    return IsOfModel(checkpoint, IdentityOf(spec_, {}));
  }

  // A former version may have released entries after its checkpoint that this one would not release
  // again: they are left out, and charged for as lost ones.
  absl::Status CheckFormer(const Identity& configured) {
    if (checkpoint_.fixed == FixedDigest(configured)) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(Renew({}, configured).status());
    const absl::StatusOr<std::string> text = ReadIdentityFile(*state_);
    const absl::StatusOr<Identity> stored =
        text.ok() ? ParseIdentity(*text) : absl::StatusOr<Identity>(text.status());
    without_entries_ = !stored.ok() || IsFormer(*stored, configured);
    if (without_entries_) {
      result_.notes.push_back(
          "the checkpoint is of a former version: entries after it are not applied, as the noise "
          "of what it released of them would not be the same");
    }
    return absl::OkStatus();
  }

  // Without a checkpoint: the whole log, if it is there from its first entry.
  absl::Status StartEmpty() {
    BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(*state_));
    const absl::StatusOr<Identity> identity = ParseIdentity(text);
    const auto log = OpenLog(OldEngine(), folder_);
    if (absl::IsUnavailable(log.status())) return log.status();
    if (!identity.ok() || !log.ok() || (*log)->trimmed() > 0) {
      return DataLoss("model ", spec_.public_spec.name,
                      ": no checkpoint is sound, and the log does not begin at entry 1");
    }
    KeepMade(*identity, spec_);
    const Identity configured = IdentityOf(spec_, identity->instance);
    if (IsFormer(*identity, configured)) {
      BANDANA_RETURN_IF_ERROR(Renew(*identity, configured).status());
      return FailedPrecondition(
          "the folder is of a former version and has no checkpoint: let that "
          "version write one first");
    }
    BANDANA_RETURN_IF_ERROR(CheckSameModel(*identity, configured));
    checkpoint_.instance = identity->instance;
    checkpoint_.fixed = FixedDigest(configured);
    checkpoint_.dimension = spec_.public_spec.dimension;
    from_nothing_ = true;
    return absl::OkStatus();
  }

  void SetEmpty(const EventPath& path) {
    checkpoint_.events_only = path.statistics_dimension() == 0;
    checkpoint_.statistics = path.NoStatistics();
    checkpoint_.state.events_at_epoch.assign(checkpoint_.statistics.size(), 0);
  }

  // The configured one, or SQLite: so a model moves from there to the configured engine.
  const LogEngine& OldEngine() const {
    return options_.log->Holds(folder_) ? *options_.log : *DefaultLogEngine();
  }

  absl::Status Replay(const EventPath& path) {
    result_.through = checkpoint_.state.position.sequence;
    values_ = checkpoint_.former;
    const auto log = OpenLog(OldEngine(), folder_);
    // A log that is away, or another server's, is not lost.
    if (absl::IsUnavailable(log.status())) return log.status();
    if (!log.ok()) {
      Note(log.status());
      return ChargeForLostEntries(path);
    }
    result_.log_end = (*log)->last().sequence;
    if (!(*log)->counters().empty()) checkpoint_.counters = (*log)->counters();
    UserIndex users;
    for (const std::string& user : checkpoint_.users) users.Restore(user);
    StatisticsSink sink(path.statistics_dimension(), std::move(checkpoint_.statistics),
                        checkpoint_.state.fading.steps());
    absl::Status sound;
    if (!without_entries_) {
      sound = ForEachEntry(
          **log, checkpoint_.state.position,
          [&](const LogEntry& entry) {
            BANDANA_RETURN_IF_ERROR(checkpoint_.state.Apply(entry, path, users, sink));
            path.Settle(checkpoint_.state);
            return absl::OkStatus();
          },
          options_.through.value_or(UINT64_MAX));
      if (absl::IsUnavailable(sound)) return sound;
    }
    if (!sound.ok()) Note(sound);
    if (sound.ok() && checkpoint_.state.position == (*log)->last()) TakeCells(path, **log);
    result_.through = checkpoint_.state.position.sequence;
    checkpoint_.statistics = sink.Take();
    BANDANA_RETURN_IF_ERROR(ChargeForLostEntries(path));
    checkpoint_.state.events_at_epoch.resize(checkpoint_.statistics.size());
    checkpoint_.users.clear();
    for (int node = 0; node < users.size(); ++node) {
      checkpoint_.users.emplace_back(users.Name(node));
    }
    return absl::OkStatus();
  }

  // Takes the values of the windows that are still open, where the copy may have them.
  void TakeCells(const EventPath& path, const UpdateLog& log) {
    const auto values = path.ReportsToCopy([&]() -> absl::StatusOr<WindowValues> {
      WindowValues held;
      const CellCodec codec(checkpoint_.instance, std::nullopt, SystemBits());
      const absl::Status read = log.ForEachCell([&](const Cell& cell) {
        const auto value = codec.Decode(cell.id, cell.content);
        if (cell.live && value.ok()) held[cell.id] = *value;
      });
      if (!read.ok()) Note(read);
      return held;
    });
    if (!values.ok()) return Note(values.status());
    for (const auto& [id, value] : *values) values_[id] = value;
  }

  absl::Status ChargeForLostEntries(const EventPath& path) {
    const std::uint64_t through = checkpoint_.state.position.sequence;
    const std::uint64_t lost = result_.log_end.value_or(through + 1) - through;
    auto [debit, nodes] = path.debits()->ForLostEntries(lost, checkpoint_.statistics.size());
    if (nodes == 0 || lost == 0) return absl::OkStatus();
    debit.epoch = checkpoint_.state.epoch;
    for (std::size_t node = 0; node < nodes; ++node) {
      debit.node = static_cast<std::int32_t>(node);
      BANDANA_RETURN_IF_ERROR(checkpoint_.state.ledger.Add(through, debit));
    }
    result_.notes.push_back("every user is charged once more, for debits among the lost entries");
    return absl::OkStatus();
  }

  absl::Status MakeFolder(const EventPath& path) {
    BANDANA_ASSIGN_OR_RETURN(const std::string exported,
                             CheckpointToExport(EncodeAgain(checkpoint_), path, values_));
    BANDANA_ASSIGN_OR_RETURN(Checkpoint copy, DecodeCheckpoint(exported));
    BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
    BANDANA_ASSIGN_OR_RETURN(const Identity identity,
                             NewIdentity(spec_, instance, options_.noise_key));
    copy.fixed = FixedDigest(identity);
    BecomeCopy(copy, instance);
    BANDANA_RETURN_IF_ERROR(RemoveHalfMade());
    BANDANA_ASSIGN_OR_RETURN(made_, MakeModelFolder(half_made_, spec_, identity, &copy,
                                                    *options_.log, options_.checkpoint_seal));
    if (const absl::Status arms = CopyArms(); !arms.ok()) Note(arms);
    if (const absl::Status users = CopyUsers(); !users.ok()) Note(users);
    BANDANA_ASSIGN_OR_RETURN(const bool stored, HasStoredConfig(*state_));
    return stored ? WriteStoredConfig(*made_, spec_.config) : absl::OkStatus();
  }

  absl::Status RemoveHalfMade() const {
    std::error_code error;
    if (!fs::exists(half_made_, error)) return absl::OkStatus();
    BANDANA_RETURN_IF_ERROR(options_.log->Remove(half_made_));
    return RemoveFolder(half_made_);
  }

  absl::Status CopyArms() const {
    const TablePlace place = state_->Table(TableKind::kArms);
    BANDANA_ASSIGN_OR_RETURN(const bool exists, place.exists());
    if (!exists) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(ArmStore from, ArmStore::Open(place));
    BANDANA_ASSIGN_OR_RETURN(const std::vector<CatalogueArm> arms, from.Load());
    BANDANA_ASSIGN_OR_RETURN(ArmStore to, ArmStore::Open(made_->Table(TableKind::kArms)));
    BANDANA_RETURN_IF_ERROR(to.PutFromFile(arms, from.file()));
    return CopyLeftKeys(from.table(), to.table());
  }

  absl::Status CopyUsers() const {
    const TablePlace place = state_->Table(TableKind::kUsers);
    BANDANA_ASSIGN_OR_RETURN(const bool exists, place.exists());
    if (!exists) return absl::OkStatus();
    return CopyUserTable(place, made_->Table(TableKind::kUsers));
  }

  absl::Status Swap() {
    const std::string away = options_.data_dir + "/set_aside";
    BANDANA_RETURN_IF_ERROR(MakeFolders(away));
    std::error_code error;
    for (int i = 1; result_.set_aside.empty(); ++i) {
      const std::string name = absl::StrCat(away, "/", spec_.public_spec.name, "-", i);
      if (!fs::exists(name, error)) result_.set_aside = name;
    }
    fs::rename(folder_, result_.set_aside, error);
    if (error) return Unavailable("cannot rename ", folder_, ": ", error.message());
    fs::rename(half_made_, folder_, error);
    if (error) return Unavailable("cannot rename ", half_made_, ": ", error.message());
    BANDANA_RETURN_IF_ERROR(SyncFolderOf(result_.set_aside));
    BANDANA_RETURN_IF_ERROR(SyncFolderOf(folder_));
    return options_.log->Publish(folder_, /*replace=*/true);
  }

  ModelSpec spec_;
  const RestoreOptions& options_;
  const std::string folder_;
  const std::string half_made_;
  std::shared_ptr<StateStore> state_;  // the old one
  std::shared_ptr<StateStore> made_;
  Checkpoint checkpoint_;
  bool from_nothing_ = false;  // there is no checkpoint
  bool without_entries_ = false;
  WindowValues values_;
  Restored result_;
};

}  // namespace

absl::StatusOr<Restored> RestoreModelFolder(const ModelSpec& spec, const RestoreOptions& options) {
  return Restorer(spec, options).Run();
}

}  // namespace bandana::server
