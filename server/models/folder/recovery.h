// A model's folder: made, and opened after whatever ended the last run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/identity.h"
#include "common/design/model_spec.h"
#include "common/model/entries/counters.h"
#include "common/model/state/debit_policy.h"
#include "common/model/state/model_state.h"
#include "server/log/log_engine.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/publication.h"

namespace bandana::server {

// Log entries of central models hold raw rewards: once a checkpoint covers an entry, it is deleted.
CheckpointStore::Options StoreOptions(
    const ModelSpec& spec, std::shared_ptr<StateStore> state,
    std::shared_ptr<const CheckpointSeal> seal,
    std::uint64_t base_bytes_min = CheckpointStore::kBaseBytesMin);

absl::StatusOr<InstanceId> NewInstance();

// The identity of a new model, with the digest of the key that its noise will come from.
absl::StatusOr<Identity> NewIdentity(const ModelSpec& spec, const InstanceId& instance,
                                     const std::shared_ptr<const NoiseKey>& key);

// The text of the file. Errors: NOT_FOUND; UNAVAILABLE I/O.
absl::StatusOr<std::string> ReadIdentityFile(const StateStore& state);
// Writes the identity durably. Errors: as StateStore::Write.
absl::Status WriteIdentity(StateStore& state, const Identity& identity);

// As ServedModel::CheckUpdate, of the model whose state this is.
absl::Status CheckStored(const StateStore& state, const ModelSpec& spec);

// Whether what the log and the state of such a model hold must not lie in clear where others can
// read: raw rewards.
bool DrawsNoise(const ModelSpec& spec);

// Makes a log that continues `checkpoint` (nullptr: an empty one), with the checkpoint's file, and
// last the identity, whose presence makes the folder a model. The state that came about. Errors:
// DATA_LOSS the folder holds a log with entries; FAILED_PRECONDITION as LogEngine::OpenState;
// UNAVAILABLE I/O.
absl::StatusOr<std::shared_ptr<StateStore>> MakeModelFolder(
    const std::string& folder, const ModelSpec& spec, const Identity& identity,
    const Checkpoint* checkpoint, const LogEngine& engine,
    std::shared_ptr<const CheckpointSeal> seal = nullptr);

// Makes the folder of a model that the store knows by the folder's name, on a machine that has no
// such folder. OK when there is none. Errors: UNAVAILABLE I/O.
absl::Status TakeFromStore(const std::string& folder, const LogEngine& engine);

struct RecoveryOptions {
  std::shared_ptr<const LogEngine> log = DefaultLogEngine();
  std::shared_ptr<const NoiseKey> noise_key;              // central models
  std::shared_ptr<const CheckpointSeal> checkpoint_seal;  // null: checkpoints are plain
  WarningSink warn = [](const std::string&) {};
  bool stepped = false;  // the log has no thread
  // Go on although the store was put back (NeedsEpoch): the caller charges for what is lost, and
  // opens an epoch before anything is published.
  bool accept_lost = false;
  // The fields below are those of HostedModelOptions.
  absl::Status doubt;
  std::vector<Published> elsewhere;
  std::shared_ptr<const std::string> followed;
  const NoiseBinding* binding = nullptr;  // null but in bandana-audit
};

struct Recovered {
  Identity stored;  // as found; the spec's differs in what may change
  std::unique_ptr<const EventPath> path;
  std::unique_ptr<UpdateLog> log;     // null: it is followed
  std::shared_ptr<StateStore> store;  // owned under the log's term, or followed
  ModelState state;
  std::vector<NodeStatistics> statistics;
  std::uint64_t checkpoint_sequence = 0;    // of the newest checkpoint in the store, 0 = none
  LogPosition published;                    // central models
  std::optional<DebitPolicy::Charge> owed;  // accept_lost, and something may be lost
  WindowValues former;                      // Checkpoint::former
};

// The spec with what it leaves open as the model in the folder was made with it (KeepMade); as it
// is where there is none. Errors: DATA_LOSS, UNAVAILABLE.
absl::StatusOr<ModelSpec> AsMade(ModelSpec spec, const std::string& folder,
                                 const LogEngine& engine);

// Opens the folder; or takes the model that the store knows under the folder's name; or makes it
// where it is new: newest valid checkpoint, then every log entry
// after it, verified against the running hash. The noise of central models is drawn again from
// the noise key, to the same bits. Fills `users` and `counters`. A folder of a former version
// (IsFormer) is renewed. Errors: as HostedModel::Open.
absl::StatusOr<Recovered> Recover(const ModelSpec& spec, const std::string& folder,
                                  const RecoveryOptions& options, UserIndex& users,
                                  Counters& counters);

// As above for a model that another server owns, from what stands in the store: as Recover, but it
// makes and changes nothing there. `log`: stands where a view has said that it ends. `vouched`: the
// owner serves the model now, so the store is not of the past, even where this machine has no
// record of what was published. Errors: as Recover; UNAVAILABLE the owner must renew the model
// first.
absl::StatusOr<Recovered> RecoverFollowed(const ModelSpec& spec, const std::string& folder,
                                          const LogReader& log, bool vouched,
                                          const RecoveryOptions& options, UserIndex& users,
                                          Counters& counters);

}  // namespace bandana::server
