// The way out of DATA_LOSS: a model made anew from what of its folder is sound.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/random/keyed_stream.h"
#include "server/log/log_engine.h"
#include "server/models/folder/checkpoint_seal.h"

namespace bandana::server {

struct RestoreOptions {
  std::string data_dir;
  // Keeps the log of the model made anew. The old one is its, or SQLite's.
  std::shared_ptr<const LogEngine> log = DefaultLogEngine();
  std::shared_ptr<const NoiseKey> noise_key;              // central models
  std::shared_ptr<const CheckpointSeal> checkpoint_seal;  // null: checkpoints are plain
  std::optional<std::uint64_t> through;  // no entry after it counts; nullopt: as far as possible
};

struct Restored {
  std::uint64_t checkpoint = 0;          // it began from the state after this entry, 0 = none
  std::uint64_t through = 0;             // and holds every entry up to this one
  std::optional<std::uint64_t> log_end;  // last entry that the log knows of
  std::string set_aside;                 // where the old folder is now
  std::vector<std::string> notes;        // what could not be read, a line each
};

// Takes the newest sound checkpoint, applies the log's entries after it while the running hash
// holds, and makes of the result a new model in the old one's place, as a copy by Export and Import
// would be: another instance, so decisions that were open are foreign to it; counter streams ended
// and a new epoch, so no noise is drawn twice and nothing is released without a new debit. The
// ledger goes on; where entries are lost, every user is charged once more for the debits that may
// have been among them. The old folder is moved to data_dir/set_aside, unchanged but for a torn
// tail. Nobody else may have the folder open. Errors: DATA_LOSS nothing sound to begin from;
// INVALID_ARGUMENT the state is of another configuration; FAILED_PRECONDITION a key is missing;
// UNAVAILABLE I/O, or the log belongs to another server: the old folder is where it was.
absl::StatusOr<Restored> RestoreModelFolder(const ModelSpec& spec, const RestoreOptions& options);

}  // namespace bandana::server
