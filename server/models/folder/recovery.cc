#include "server/models/folder/recovery.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/design/mode.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/event_sink.h"
#include "common/random/bit_source.h"
#include "server/log/log_reader.h"
#include "server/models/folder/publication.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kIdentityBytesMax = 64 * 1024;

std::string IdentityPath(const std::string& folder) { return folder + "/identity"; }

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// A folder without identity is a creation that did not finish, unless its log says otherwise.
absl::Status CheckUnused(const std::string& folder, const LogEngine& engine) {
  const auto log = OpenLog(engine, folder);
  if (absl::IsFailedPrecondition(log.status())) return log.status();
  if (log.ok() && (*log)->last().sequence > 0 && (*log)->last().sequence > (*log)->trimmed()) {
    return DataLoss(IdentityPath(folder), " is missing, but the log beside it has entries");
  }
  return absl::OkStatus();
}

// The state to start from: the newest checkpoint, or nothing where the log is complete.
absl::StatusOr<std::optional<Checkpoint>> StartOf(const Identity& identity, const UpdateLog& log,
                                                  CheckpointStore& store, const WarningSink& warn) {
  absl::StatusOr<std::optional<Checkpoint>> loaded = store.LoadNewest();
  if (absl::IsDataLoss(loaded.status()) && log.trimmed() == 0) {
    warn("no checkpoint is valid; the state is rebuilt from the whole log");
    return std::optional<Checkpoint>();
  }
  if (!loaded.ok()) return loaded;
  const std::uint64_t from = *loaded ? (*loaded)->state.position.sequence : 0;
  const LogPosition last = log.last();
  if (log.trimmed() > from) {
    return DataLoss("the log begins at entry ", log.trimmed() + 1,
                    " and the newest valid checkpoint ends at entry ", from);
  }
  if (from > last.sequence) {
    return DataLoss("the log ends at entry ", last.sequence,
                    ", before the newest checkpoint, entry ", from);
  }
  if (!*loaded) return loaded;
  const Checkpoint& checkpoint = **loaded;
  if (checkpoint.instance != identity.instance || !IsOfModel(checkpoint, identity)) {
    return DataLoss("the checkpoint at entry ", from, " is of another model or instance");
  }
  if (from == last.sequence && checkpoint.state.position != last) {
    return DataLoss("log entry ", from, " does not continue the running hash");
  }
  return loaded;
}

absl::Status Replay(PublishedCheck& check, UserIndex& users, StatisticsSink& sink,
                    Recovered& recovered) {
  BANDANA_RETURN_IF_ERROR(
      ForEachEntry(*recovered.log, recovered.state.position, [&](const LogEntry& entry) {
        BANDANA_RETURN_IF_ERROR(check.See(entry.position));
        BANDANA_RETURN_IF_ERROR(recovered.state.Apply(entry, *recovered.path, users, sink));
        recovered.path->Settle(recovered.state);
        return absl::OkStatus();
      }));
  return check.Finish(recovered.state.position);
}

absl::Status CheckNoiseKey(const Identity& stored, const EventPath& path) {
  BANDANA_ASSIGN_OR_RETURN(const std::string fingerprint, path.KeyFingerprint());
  if (stored.noise_key == fingerprint) return absl::OkStatus();
  // Under another key the same release would get other noise, and the two would average it away.
  return FailedPrecondition(
      "the noise key of this data_dir is not the one that the model was made with; put the file "
      "noise_key back, or import the model's state as a new model");
}

// What a former version has released of the entries after its checkpoint would get other noise
// here, a second release. So no entry may stand there.
absl::Status CheckNothingBehind(const UpdateLog& log, const std::optional<Checkpoint>& start) {
  const std::uint64_t from = start ? start->state.position.sequence : 0;
  if (log.last().sequence == from) return absl::OkStatus();
  return FailedPrecondition(
      "the log has entries after the newest checkpoint, which this version would release with "
      "other noise than the one that wrote them; start that version once more and stop it cleanly "
      "(SIGTERM), then this one");
}

}  // namespace

std::string ArmsPath(const std::string& folder) { return folder + "/arms.sqlite"; }
std::string UsersPath(const std::string& folder) { return folder + "/users.sqlite"; }

CheckpointStore::Options StoreOptions(const ModelSpec& spec, const std::string& folder,
                                      std::shared_ptr<const CheckpointSeal> seal,
                                      std::uint64_t base_bytes_min) {
  return {.folder = folder,
          .newest_twice = ModeOf(spec.public_spec.mode).server_draws,
          .base_bytes_min = base_bytes_min,
          .seal = std::move(seal)};
}

absl::StatusOr<InstanceId> NewInstance() {
  InstanceId instance{};
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(instance));
  return instance;
}

absl::StatusOr<Identity> NewIdentity(const ModelSpec& spec, const InstanceId& instance,
                                     const std::shared_ptr<const NoiseKey>& key) {
  Identity identity = IdentityOf(spec, instance);
  BANDANA_ASSIGN_OR_RETURN(const auto path, MakePath(spec, instance, key));
  BANDANA_ASSIGN_OR_RETURN(identity.noise_key, path->KeyFingerprint());
  return identity;
}

absl::StatusOr<std::string> ReadIdentityFile(const std::string& folder) {
  return ReadFile(IdentityPath(folder), kIdentityBytesMax);
}

absl::Status WriteIdentity(const std::string& folder, const Identity& identity) {
  return WriteFileDurably(IdentityPath(folder), FormatIdentity(identity), 0600);
}

absl::Status MakeModelFolder(const std::string& folder, const Identity& identity,
                             const Checkpoint* checkpoint, const LogEngine& engine,
                             std::shared_ptr<const CheckpointSeal> seal) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  BANDANA_RETURN_IF_ERROR(CheckUnused(folder, engine));
  const LogPosition start = checkpoint != nullptr ? checkpoint->state.position : LogPosition{};
  BANDANA_RETURN_IF_ERROR(engine.Create(folder, start));
  if (checkpoint != nullptr) {
    CheckpointStore store({.folder = folder, .seal = std::move(seal)}, [](const std::string&) {});
    const ByteSource bytes = [&](const ByteSink& sink) { return EncodeAgain(*checkpoint, sink); };
    BANDANA_RETURN_IF_ERROR(store.Write(start.sequence, bytes).status());
  }
  return WriteIdentity(folder, identity);
}

absl::StatusOr<Recovered> Recover(const ModelSpec& spec, const std::string& folder,
                                  const RecoveryOptions& options, UserIndex& users,
                                  Counters& counters) {
  if (!Exists(IdentityPath(folder))) {
    BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
    BANDANA_ASSIGN_OR_RETURN(const Identity identity,
                             NewIdentity(spec, instance, options.noise_key));
    BANDANA_RETURN_IF_ERROR(
        MakeModelFolder(folder, identity, nullptr, *options.log, options.checkpoint_seal));
  }
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(folder));
  Recovered recovered;
  BANDANA_ASSIGN_OR_RETURN(recovered.stored, ParseIdentity(text));
  const Identity configured = IdentityOf(spec, recovered.stored.instance);
  const bool former = IsFormer(recovered.stored, configured);
  if (former) {
    BANDANA_ASSIGN_OR_RETURN(recovered.stored, Renew(recovered.stored, configured));
  }
  BANDANA_RETURN_IF_ERROR(CheckSameModel(recovered.stored, configured));
  BANDANA_ASSIGN_OR_RETURN(recovered.path, MakePath(spec, recovered.stored.instance,
                                                    options.noise_key, options.binding));
  BANDANA_RETURN_IF_ERROR(CheckNoiseKey(recovered.stored, *recovered.path));
  BANDANA_ASSIGN_OR_RETURN(recovered.log, OpenLog(*options.log, folder,
                                                  {.erase_trimmed = recovered.path->draws_noise(),
                                                   .stepped = options.stepped}));
  BANDANA_RETURN_IF_ERROR(counters.Restore(recovered.log->counters()));

  CheckpointStore store(StoreOptions(spec, folder, options.checkpoint_seal), options.warn);
  BANDANA_ASSIGN_OR_RETURN(std::optional<Checkpoint> start,
                           StartOf(recovered.stored, *recovered.log, store, options.warn));
  if (former) {
    BANDANA_RETURN_IF_ERROR(CheckNothingBehind(*recovered.log, start));
    BANDANA_RETURN_IF_ERROR(WriteIdentity(folder, recovered.stored));
    options.warn(
        "the folder is of a former version; it is now of this one, and the former will refuse it");
  }
  std::vector<NodeStatistics> statistics = recovered.path->NoStatistics();
  if (start) {
    for (const std::string& user : start->users) users.Restore(user);
    // An imported state brings its counters with it; later ones are stored with the log.
    if (recovered.log->counters().empty()) {
      BANDANA_RETURN_IF_ERROR(counters.Restore(start->counters));
    }
    BANDANA_RETURN_IF_ERROR(RestoreStreams(*recovered.path, *start));
    recovered.former = std::move(start->former);
    recovered.state = std::move(start->state);
    recovered.checkpoint_sequence = recovered.state.position.sequence;
    statistics = std::move(start->statistics);
  } else {
    BANDANA_RETURN_IF_ERROR(recovered.path->Begin(recovered.state));
  }
  StatisticsSink sink(recovered.path->statistics_dimension(), std::move(statistics),
                      recovered.state.fading.steps());
  BANDANA_ASSIGN_OR_RETURN(recovered.published, ReadPublished(folder, recovered.stored.instance));
  PublishedCheck check(recovered.published, recovered.state.position,
                       start ? start->published : LogPosition{});
  BANDANA_RETURN_IF_ERROR(check.Begin());
  BANDANA_RETURN_IF_ERROR(Replay(check, users, sink, recovered));
  recovered.statistics = sink.Take();
  return recovered;
}

}  // namespace bandana::server
