// The checkpoints of one model, as files of its state. Two files that do not need each other are
// always there, so that one damaged file loses nothing. A large checkpoint is written as what
// changed since another one, its base, which then is there twice.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/byte_sink.h"
#include "server/log/state/folder_state.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/checkpoint_delta.h"
#include "server/models/folder/checkpoint_seal.h"

namespace bandana::server {

using WarningSink = std::function<void(const std::string&)>;

// One file: checkpoint-SEQUENCE, checkpoint-SEQUENCE.copy or checkpoint-SEQUENCE.since-BASE.
struct CheckpointFile {
  std::uint64_t sequence = 0;
  bool copy = false;
  std::optional<std::uint64_t> base;  // holds what changed since this checkpoint
  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes compares with 0.
  friend auto operator<=>(const CheckpointFile&, const CheckpointFile&) = default;
};

// Not thread-safe.
class CheckpointStore {
 public:
  static constexpr std::uint64_t kBaseBytesMin = std::uint64_t{16} << 20;
  struct Options {
    std::string folder;  // of the files, where no state is given
    std::shared_ptr<StateStore> state;
    // The newest alone, as two files, in place of the newest two: the log before it goes at once,
    // as it does where entries hold raw rewards.
    bool newest_twice = false;
    // From this size on a checkpoint is the base of those after it. Never where newest_twice.
    std::uint64_t base_bytes_min = kBaseBytesMin;
    std::shared_ptr<const CheckpointSeal> seal;  // null: files are plain
  };
  CheckpointStore(Options options, WarningSink warn)
      : options_(std::move(options)),
        warn_(std::move(warn)),
        state_(options_.state != nullptr ? options_.state : StateInFolder(options_.folder)) {}

  // Ascending. Errors: UNAVAILABLE I/O.
  absl::StatusOr<std::vector<CheckpointFile>> Files() const;
  // Whether one of this position is there, as often as it has to be. Errors: UNAVAILABLE I/O.
  absl::StatusOr<bool> Has(std::uint64_t sequence) const;
  // Its name, and with it where it is, for messages.
  static std::string NameOf(const CheckpointFile& file);
  std::string Path(const CheckpointFile& file) const;
  // Errors: DATA_LOSS damaged or unknown; FAILED_PRECONDITION sealed with a key that is not given;
  // NOT_FOUND; UNAVAILABLE I/O.
  absl::StatusOr<Checkpoint> Load(const CheckpointFile& file) const;

  // The newest valid checkpoint, nullopt when there is no file. A damaged file is set aside as
  // `damaged-...` with a warning; what a crash left half written is removed. Errors: DATA_LOSS
  // files but no valid one; FAILED_PRECONDITION as Load; UNAVAILABLE I/O.
  absl::StatusOr<std::optional<Checkpoint>> LoadNewest();

  // As above for a follower of another server's checkpoints: nothing is set aside or removed.
  absl::StatusOr<std::optional<Checkpoint>> FindNewest() const;

  // Writes durably, a piece at a time, and removes what is not needed. Returns the sequence up to
  // which the log is not needed any more. `checkpoint` is asked more than once. Errors: UNAVAILABLE
  // I/O.
  absl::StatusOr<std::uint64_t> Write(std::uint64_t sequence, const ByteSource& checkpoint);
  // As Write, and no earlier file is left, sound or damaged: this one stands there twice.
  absl::StatusOr<std::uint64_t> WriteAlone(std::uint64_t sequence, const ByteSource& checkpoint);
  // The sequence up to which no entry may stand in the log beside this newest checkpoint.
  std::uint64_t LogGoneBefore(std::uint64_t newest) const {
    return options_.newest_twice ? newest : 0;
  }

 private:
  // The content of a file, unsealed.
  absl::StatusOr<std::string> Plain(const CheckpointFile& file) const;
  absl::StatusOr<ReadBase> OpenBase(const CheckpointFile& file) const;
  absl::StatusOr<Checkpoint> LoadSince(const CheckpointFile& file, std::string_view delta) const;
  absl::StatusOr<Checkpoint> LoadWith(const CheckpointFile& file, std::string_view delta,
                                      const CheckpointFile& base) const;
  absl::StatusOr<Checkpoint> Decode(const CheckpointFile& file, std::string_view bytes) const;
  absl::Status WriteFile(const CheckpointFile& file, const ByteSource& content) const;
  absl::Status WriteDelta(std::uint64_t sequence, const ByteSource& checkpoint);
  absl::Status WriteWhole(std::uint64_t sequence, const ByteSource& checkpoint, bool twice);
  // Removes all but the newest and what they need. Returns as Write.
  absl::StatusOr<std::uint64_t> RemoveOld() const;
  bool Remove(const CheckpointFile& file) const;
  // Files that a crash left half written, or, where `damaged`, that were set aside. Errors:
  // UNAVAILABLE one stays.
  absl::Status RemoveLeft(bool damaged) const;

  const Options options_;
  const WarningSink warn_;
  const std::shared_ptr<StateStore> state_;
  std::optional<CheckpointIndex> base_;  // nullopt: the next one is written whole
};

}  // namespace bandana::server
