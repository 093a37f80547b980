// A model's whole state at one log position, as one self-checking string. Layout:
// docs/formats/checkpoint.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bandits/effects/frozen_effects.h"
#include "common/bandits/frozen_statistics.h"
#include "common/bandits/model.h"
#include "common/base/byte_sink.h"
#include "common/design/identity.h"
#include "common/model/state/model_state.h"
#include "common/model/state/window_table.h"

namespace bandana::server {

// Read access to a model's state while it is encoded.
struct CheckpointSource {
  InstanceId instance{};
  Sha256Digest fixed{};  // FixedDigest of the identity
  int dimension = 0;
  bool events_only = false;  // of a node its number of events is all that is kept: sparse models
  const ModelState* state = nullptr;
  int nodes = 0;
  std::function<const NodeStatistics&(int)> statistics;
  const UserIndex* users = nullptr;  // independent models: at least `nodes` names; else nullptr
  std::string counters;
  std::string_view central;  // state->central where it is still encoded
  std::string_view sparse;   // state->sparse where it is still encoded
  std::string_view effects;  // state->effects where it is still encoded
  std::string_view notes;    // state->notes where it is still encoded
  LogPosition published;     // central models: the newest position that a release was published at
};
// The bytes hold the raw sums of central counters and episodes: they stay in the model's folder.
std::string EncodeCheckpoint(const CheckpointSource& source);
// As above, in pieces. Errors: those of `sink`.
absl::Status EncodeCheckpoint(const CheckpointSource& source, const ByteSink& sink);

// A checkpoint whose state is taken and whose nodes, or blocks of effects, are still to be encoded,
// which is most of the work. Threads: immutable.
class FrozenCheckpoint {
 public:
  // `source.statistics` is not asked. Its users must outlive the object; what was added to them
  // since is not looked at. Of a model of effects one may be there at a time; another one encodes
  // the blocks at once.
  FrozenCheckpoint(const CheckpointSource& source,
                   std::shared_ptr<const FrozenStatistics> statistics);
  std::uint64_t sequence() const { return sequence_; }
  // A digest of all of it that does not follow from the log up to its position: counts of reports
  // that were refused, for instance.
  Sha256Digest BesideTheLog() const;
  // As EncodeCheckpoint of the source at that time.
  std::string Encode() const;
  absl::Status Encode(const ByteSink& sink) const;

 private:
  const std::uint64_t sequence_;
  const bool events_only_;
  const bool fading_;
  const UserIndex* const users_;
  const std::uint32_t removed_;
  const std::vector<std::uint64_t> events_at_epoch_;
  const std::shared_ptr<const FrozenStatistics> statistics_;
  std::string head_;
  std::string tail_;
  std::shared_ptr<const FrozenEffects> effects_;  // behind the tail
};

struct Checkpoint {
  std::uint32_t version = 0;  // of the bytes that it was read from
  InstanceId instance{};
  Sha256Digest fixed{};
  int dimension = 0;
  bool events_only = false;
  ModelState state;
  std::vector<NodeStatistics> statistics;
  std::vector<std::string> users;  // by node, "" a deleted one; empty unless independent
  std::string counters;
  std::string central;  // state.central, encoded: RestoreStreams
  std::string sparse;   // state.sparse, encoded
  std::string effects;  // state.effects, encoded; "" of other models
  std::string notes;    // state.notes, encoded; "" of models that keep none
  LogPosition published;
  WindowValues former;  // of versions before 6: what the open windows hold
};
// Reads version 1 as well, which has no ledger and no streams, 2, which holds no contexts back, and
// 3, which has no shape, and 4, which has no sparse models, and 5, whose central streams have no
// chain and whose open windows say what they hold.
// From 6 on the version says what the checkpoint has besides: 1 more with effects, 2 more with
// deleted users, 4 more with fading, 8 more where time is ahead of the clock, 16 more
// with what is kept of arms. `state.central`, `state.sparse`, `state.effects` and
// `state.notes` stay empty. Errors: DATA_LOSS unknown version, truncated, or
// checksum mismatch.
absl::StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes);
// Its dimension and number of nodes, without a look at anything behind them. Errors: DATA_LOSS.
struct CheckpointExtent {
  int dimension = 0;
  std::uint32_t nodes = 0;
};
absl::StatusOr<CheckpointExtent> ExtentOf(std::string_view bytes);
// Whether its fixed fields are the identity's; of versions before 6 also those of a former identity
// (IsFormer), which did not say all.
bool IsOfModel(const Checkpoint& checkpoint, const Identity& identity);
// Moves `central`, `sparse`, `effects` and `notes` into the state. Errors: DATA_LOSS;
// FAILED_PRECONDITION of another design.
absl::Status RestoreStreams(const EventPath& path, Checkpoint& checkpoint);
// Encodes a checkpoint that was decoded, and restored where it has a central counter or an
// episode.
std::string EncodeAgain(const Checkpoint& checkpoint);
absl::Status EncodeAgain(const Checkpoint& checkpoint, const ByteSink& sink);

}  // namespace bandana::server
