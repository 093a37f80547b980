#include "server/models/folder/recovery.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/event_sink.h"
#include "common/promise/mode.h"
#include "common/random/bit_source.h"
#include "server/log/log_reader.h"
#include "server/models/folder/publication.h"
#include "server/models/users/kept_nodes.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kIdentityBytesMax = 64 * 1024;

// A folder without identity is a creation that did not finish, unless its log says otherwise.
absl::Status CheckUnused(const std::string& folder, const LogEngine& engine) {
  const auto log = OpenLog(engine, folder);
  if (absl::IsFailedPrecondition(log.status())) return log.status();
  if (log.ok() && (*log)->last().sequence > 0 && (*log)->last().sequence > (*log)->trimmed()) {
    return DataLoss(folder, "/", kIdentityFile, " is missing, but the log beside it has entries");
  }
  return absl::OkStatus();
}

// The state to start from: the newest checkpoint, or nothing where the log is complete.
absl::StatusOr<std::optional<Checkpoint>> StartOf(const Identity& identity, const LogReader& log,
                                                  absl::StatusOr<std::optional<Checkpoint>> loaded,
                                                  const WarningSink& warn) {
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

// The checkpoint that this server has followed to, where it is newer than `stored`, and of that
// log. Whether the log goes on from there is found as it is read.
std::optional<Checkpoint> NewerFollowed(const RecoveryOptions& options, const Identity& identity,
                                        const LogReader& log, std::uint64_t stored) {
  if (options.followed == nullptr) return std::nullopt;
  absl::StatusOr<Checkpoint> followed = DecodeCheckpoint(*options.followed);
  if (!followed.ok()) return std::nullopt;
  const LogPosition& at = followed->state.position;
  const LogPosition last = log.last();
  const bool fits = at.sequence > stored && at.sequence <= last.sequence &&
                    (at.sequence < last.sequence || at == last) &&
                    followed->instance == identity.instance && IsOfModel(*followed, identity);
  return fits ? std::optional(*std::move(followed)) : std::nullopt;
}

// `same`: whether the entries are those after which the model published.
absl::Status Replay(const LogReader& log, std::span<const PublishedCheck> checks, UserIndex& users,
                    StatisticsSink& sink, Recovered& recovered, absl::Status& same) {
  BANDANA_RETURN_IF_ERROR(ForEachEntry(log, recovered.state.position, [&](const LogEntry& entry) {
    for (const PublishedCheck& check : checks) same.Update(check.See(entry.position));
    BANDANA_RETURN_IF_ERROR(recovered.state.Apply(entry, *recovered.path, users, sink));
    recovered.path->Settle(recovered.state);
    return absl::OkStatus();
  }));
  for (const PublishedCheck& check : checks) same.Update(check.Finish(recovered.state.position));
  return absl::OkStatus();
}

// All that is known to have been shown, and charged.
Published Newest(Published published, std::span<const Published> elsewhere) {
  for (const Published& other : elsewhere) {
    if (other.position.sequence > published.position.sequence) published.position = other.position;
    published.epoch = std::max(published.epoch, other.epoch);
    published.totals = Parallel(published.totals, other.totals);
  }
  return published;
}

// The charge of every principal for debits among lost entries: at least one, and so many that the
// ledger has again what is known to have been charged.
DebitPolicy::Charge OwedFor(const Published& published, const Recovered& recovered) {
  constexpr std::uint64_t kTimesMax = 1000;
  const std::uint64_t last = recovered.state.position.sequence;
  const std::uint64_t lost = std::max(published.position.sequence, last + 1) - last;
  // A past without users is charged for the first one who comes: what the ledger knows of as
  // charged was of somebody.
  const std::size_t nodes = std::max<std::size_t>(recovered.statistics.size(), 1);
  DebitPolicy::Charge charge = recovered.path->debits()->ForLostEntries(lost, nodes);
  Ledger ledger = recovered.state.ledger;
  std::uint64_t times = 0;
  for (bool covered = false; !covered && times < kTimesMax; ++times) {
    for (std::size_t node = 0; node < charge.nodes; ++node) {
      charge.debit.node = static_cast<std::int32_t>(node);
      if (!ledger.Add(last, charge.debit).ok()) return charge;
    }
    covered = charge.nodes == 0 || Parallel(ledger.largest(), published.totals) == ledger.largest();
  }
  charge.debit.releases *= times;
  charge.debit.epoch = recovered.state.epoch;
  return charge;
}

absl::Status CheckUsersStay(const StateStore& state, const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const KeptNodes kept, KeptNodes::Read(state));
  return kept.Check(spec);
}

absl::Status CheckNoiseKey(const Identity& stored, const EventPath& path) {
  BANDANA_ASSIGN_OR_RETURN(const std::string fingerprint, path.KeyFingerprint());
  if (stored.noise_key == fingerprint) return absl::OkStatus();
  // Under another key the same release would get other noise, and the two would average it away.
  return FailedPrecondition(
      "the noise key of this data_dir is not the one that the model was made with; put the file "
      "noise_key back, or import the model's state as a new model");
}

// nullptr: there is none that is complete.
absl::StatusOr<std::shared_ptr<StateStore>> FindState(const ModelSpec& spec,
                                                      const std::string& folder,
                                                      const LogEngine& engine) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  if (!engine.Holds(folder)) BANDANA_RETURN_IF_ERROR(engine.Adopt(folder).status());
  absl::StatusOr<std::shared_ptr<StateStore>> state = engine.OpenState(folder, DrawsNoise(spec));
  if (absl::IsNotFound(state.status())) return std::shared_ptr<StateStore>();
  BANDANA_RETURN_IF_ERROR(state.status());
  BANDANA_ASSIGN_OR_RETURN(const bool made, (*state)->Has(kIdentityFile));
  return made ? *state : std::shared_ptr<StateStore>();
}

absl::StatusOr<std::shared_ptr<StateStore>> FindOrMake(const ModelSpec& spec,
                                                       const std::string& folder,
                                                       const RecoveryOptions& options) {
  const LogEngine& engine = *options.log;
  absl::StatusOr<std::shared_ptr<StateStore>> state = FindState(spec, folder, engine);
  if (!state.ok() || *state != nullptr) return state;
  BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, NewInstance());
  BANDANA_ASSIGN_OR_RETURN(const Identity identity, NewIdentity(spec, instance, options.noise_key));
  state = MakeModelFolder(folder, spec, identity, nullptr, engine, options.checkpoint_seal);
  if (!state.ok()) return state;
  const absl::Status published = engine.Publish(folder, /*replace=*/false);
  if (!absl::IsAlreadyExists(published)) {
    BANDANA_RETURN_IF_ERROR(published);
    return state;
  }
  // Another server was faster.
  BANDANA_RETURN_IF_ERROR(engine.Remove(folder));
  BANDANA_RETURN_IF_ERROR(engine.Adopt(folder).status());
  return engine.OpenState(folder, DrawsNoise(spec));
}

absl::Status NothingKnown() {
  return DataLoss("this server has no record of what the model has published");
}

// Entries after a former version's checkpoint would get other noise here, a second release. So no
// entry may stand there.
absl::Status CheckNothingBehind(const LogReader& log, const std::optional<Checkpoint>& start) {
  const std::uint64_t from = start ? start->state.position.sequence : 0;
  if (log.last().sequence == from) return absl::OkStatus();
  return FailedPrecondition(
      "the log has entries after the newest checkpoint, which this version would release with "
      "other noise than the one that wrote them; start that version once more and stop it cleanly "
      "(SIGTERM), then this one");
}

}  // namespace

CheckpointStore::Options StoreOptions(const ModelSpec& spec, std::shared_ptr<StateStore> state,
                                      std::shared_ptr<const CheckpointSeal> seal,
                                      std::uint64_t base_bytes_min) {
  return {.state = std::move(state),
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

absl::StatusOr<std::string> ReadIdentityFile(const StateStore& state) {
  return state.Read(kIdentityFile, kIdentityBytesMax);
}

absl::Status WriteIdentity(StateStore& state, const Identity& identity) {
  return state.Write(kIdentityFile, FormatIdentity(identity));
}

absl::Status CheckStored(const StateStore& state, const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(state));
  BANDANA_ASSIGN_OR_RETURN(const Identity stored, ParseIdentity(text));
  ModelSpec made = spec;
  KeepMade(stored, made);
  BANDANA_RETURN_IF_ERROR(CheckSameModel(stored, IdentityOf(made, stored.instance)));
  return CheckUsersStay(state, spec);
}

bool DrawsNoise(const ModelSpec& spec) { return ModeOf(spec.public_spec.mode).server_draws; }

absl::StatusOr<std::shared_ptr<StateStore>> MakeModelFolder(
    const std::string& folder, const ModelSpec& spec, const Identity& identity,
    const Checkpoint* checkpoint, const LogEngine& engine,
    std::shared_ptr<const CheckpointSeal> seal) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  BANDANA_RETURN_IF_ERROR(CheckUnused(folder, engine));
  const LogPosition start = checkpoint != nullptr ? checkpoint->state.position : LogPosition{};
  BANDANA_RETURN_IF_ERROR(engine.Create(folder, start));
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<StateStore> state,
                           engine.OpenState(folder, DrawsNoise(spec)));
  if (checkpoint != nullptr) {
    CheckpointStore store({.state = state, .seal = std::move(seal)}, [](const std::string&) {});
    const ByteSource bytes = [&](const ByteSink& sink) { return EncodeAgain(*checkpoint, sink); };
    BANDANA_RETURN_IF_ERROR(store.Write(start.sequence, bytes).status());
  }
  // Where the log may be put back without the folder, a folder without this file knows nothing.
  if (engine.apart() && DrawsNoise(spec)) {
    const ModelState nothing;
    BANDANA_RETURN_IF_ERROR(WritePublished(
        folder, identity.instance,
        PublishedOf(checkpoint == nullptr ? nothing : checkpoint->state, /*apart=*/true)));
  }
  BANDANA_RETURN_IF_ERROR(WriteIdentity(*state, identity));
  return state;
}

absl::Status TakeFromStore(const std::string& folder, const LogEngine& engine) {
  std::error_code error;
  if (std::filesystem::exists(folder, error)) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  const absl::StatusOr<bool> adopted = engine.Adopt(folder);
  if (!adopted.ok() || !*adopted) std::filesystem::remove(folder, error);
  return adopted.status();
}

namespace {

// Compares the identity with the configuration: fills in `stored` and `path`. Returns whether the
// folder is of a former version.
absl::StatusOr<bool> TakeIdentity(const ModelSpec& spec, const std::string& text,
                                  const RecoveryOptions& options, Recovered& recovered) {
  BANDANA_ASSIGN_OR_RETURN(recovered.stored, ParseIdentity(text));
  const Identity configured = IdentityOf(spec, recovered.stored.instance);
  const bool former = IsFormer(recovered.stored, configured);
  if (former) {
    BANDANA_ASSIGN_OR_RETURN(recovered.stored, Renew(recovered.stored, configured));
  }
  BANDANA_RETURN_IF_ERROR(CheckSameModel(recovered.stored, configured));
  BANDANA_RETURN_IF_ERROR(CheckUsersStay(*recovered.store, spec));
  BANDANA_ASSIGN_OR_RETURN(recovered.path, MakePath(spec, recovered.stored.instance,
                                                    options.noise_key, options.binding));
  BANDANA_RETURN_IF_ERROR(CheckNoiseKey(recovered.stored, *recovered.path));
  return former;
}

// From the checkpoint on, every entry of the log. `counters_stored`: with the log. `same`: whether
// the log is the one that this machine has published; an error of reading says nothing of that.
absl::Status ReadState(std::optional<Checkpoint> start, const LogReader& log, bool counters_stored,
                       const Published& published, std::span<const Published> elsewhere, bool apart,
                       UserIndex& users, Counters& counters, Recovered& recovered,
                       absl::Status& same) {
  std::vector<NodeStatistics> statistics = recovered.path->NoStatistics();
  if (start) {
    for (const std::string& user : start->users) users.Restore(user);
    // An imported state brings its counters with it; later ones are stored with the log.
    if (!counters_stored) BANDANA_RETURN_IF_ERROR(counters.Restore(start->counters));
    BANDANA_RETURN_IF_ERROR(RestoreStreams(*recovered.path, *start));
    recovered.former = std::move(start->former);
    recovered.state = std::move(start->state);
    statistics = std::move(start->statistics);
  } else {
    BANDANA_RETURN_IF_ERROR(recovered.path->Begin(recovered.state));
  }
  StatisticsSink sink(recovered.path->statistics_dimension(), std::move(statistics),
                      recovered.state.fading.steps());
  recovered.published = published.position;
  std::vector<Published> shown(elsewhere.begin(), elsewhere.end());
  shown.push_back(published);
  std::vector<PublishedCheck> checks;
  for (const Published& one : shown) {
    checks.emplace_back(one.position, recovered.state.position,
                        start ? start->published : LogPosition{}, apart);
    same.Update(checks.back().Begin());
  }
  BANDANA_RETURN_IF_ERROR(Replay(log, checks, users, sink, recovered, same));
  for (const Published& one : shown) same.Update(PublishedCheck::Compare(one, recovered.state));
  recovered.statistics = sink.Take();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelSpec> AsMade(ModelSpec spec, const std::string& folder,
                                 const LogEngine& engine) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<StateStore> state,
                           FindState(spec, folder, engine));
  if (state == nullptr) return spec;
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(*state));
  BANDANA_ASSIGN_OR_RETURN(const Identity stored, ParseIdentity(text));
  KeepMade(stored, spec);
  return spec;
}

absl::StatusOr<Recovered> Recover(const ModelSpec& spec, const std::string& folder,
                                  const RecoveryOptions& options, UserIndex& users,
                                  Counters& counters) {
  Recovered recovered;
  BANDANA_ASSIGN_OR_RETURN(recovered.store, FindOrMake(spec, folder, options));
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadIdentityFile(*recovered.store));
  BANDANA_ASSIGN_OR_RETURN(const bool former, TakeIdentity(spec, text, options, recovered));
  BANDANA_ASSIGN_OR_RETURN(recovered.log, OpenLog(*options.log, folder,
                                                  {.erase_trimmed = recovered.path->draws_noise(),
                                                   .stepped = options.stepped}));
  const UpdateLog& log = *recovered.log;
  BANDANA_RETURN_IF_ERROR(counters.Restore(log.counters()));
  BANDANA_RETURN_IF_ERROR(recovered.store->Own(log.term()));
  // A former owner may have written it until now.
  BANDANA_ASSIGN_OR_RETURN(const std::string still, ReadIdentityFile(*recovered.store));
  if (still != text) return Unavailable("the model's identity changes now; try again");

  CheckpointStore store(StoreOptions(spec, recovered.store, options.checkpoint_seal), options.warn);
  BANDANA_ASSIGN_OR_RETURN(std::optional<Checkpoint> start,
                           StartOf(recovered.stored, log, store.LoadNewest(), options.warn));
  if (former) {
    BANDANA_RETURN_IF_ERROR(CheckNothingBehind(log, start));
    BANDANA_RETURN_IF_ERROR(WriteIdentity(*recovered.store, recovered.stored));
    options.warn(
        "the folder is of a former version; it is now of this one, and the former will refuse it");
  }
  recovered.checkpoint_sequence = start ? start->state.position.sequence : 0;
  if (auto newer = NewerFollowed(options, recovered.stored, log, recovered.checkpoint_sequence)) {
    newer->counters = start ? start->counters : std::string();
    start = std::move(newer);
  }
  BANDANA_ASSIGN_OR_RETURN(const Published published,
                           ReadPublished(folder, recovered.stored.instance));
  absl::Status same;
  BANDANA_RETURN_IF_ERROR(ReadState(std::move(start), log, !log.counters().empty(), published,
                                    options.elsewhere, options.log->apart(), users, counters,
                                    recovered, same));
  same.Update(options.doubt);
  const bool draws = recovered.path->draws_noise() && options.log->apart();
  if (draws && !published.known && log.last().sequence > 0) same = NothingKnown();
  if (same.ok()) return recovered;
  if (!draws) return same;
  if (!options.accept_lost) return NeedsEpoch(ToStd(same.message()));
  recovered.owed = OwedFor(Newest(published, options.elsewhere), recovered);
  return recovered;
}

absl::StatusOr<Recovered> RecoverFollowed(const ModelSpec& spec, const std::string& folder,
                                          const LogReader& log, bool vouched,
                                          const RecoveryOptions& options, UserIndex& users,
                                          Counters& counters) {
  Recovered recovered;
  BANDANA_ASSIGN_OR_RETURN(recovered.store, options.log->OpenState(folder, DrawsNoise(spec)));
  const absl::StatusOr<std::string> text = ReadIdentityFile(*recovered.store);
  if (absl::IsNotFound(text.status())) return Unavailable("the model is being made");
  BANDANA_RETURN_IF_ERROR(text.status());
  BANDANA_ASSIGN_OR_RETURN(const bool former, TakeIdentity(spec, *text, options, recovered));
  if (former) return Unavailable("the model is of a former version, and its owner renews it first");
  const CheckpointStore store(StoreOptions(spec, recovered.store, options.checkpoint_seal),
                              options.warn);
  absl::StatusOr<std::optional<Checkpoint>> newest = store.FindNewest();
  if (newest.ok() && *newest && (*newest)->state.position.sequence > log.last().sequence) {
    return Unavailable("the checkpoint is newer than what was seen of the log; try again");
  }
  BANDANA_ASSIGN_OR_RETURN(std::optional<Checkpoint> start,
                           StartOf(recovered.stored, log, std::move(newest), options.warn));
  recovered.checkpoint_sequence = start ? start->state.position.sequence : 0;
  BANDANA_ASSIGN_OR_RETURN(const Published published,
                           ReadPublished(folder, recovered.stored.instance));
  absl::Status same;
  BANDANA_RETURN_IF_ERROR(ReadState(std::move(start), log, /*counters_stored=*/false, published,
                                    /*elsewhere=*/{}, /*apart=*/true, users, counters, recovered,
                                    same));
  const bool draws = recovered.path->draws_noise();
  if (draws && !published.known && !vouched && log.last().sequence > 0) same = NothingKnown();
  if (same.ok()) return recovered;
  return draws ? NeedsEpoch(ToStd(same.message())) : same;
}

}  // namespace bandana::server
