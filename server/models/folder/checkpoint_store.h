// The checkpoint files of one model: written whole, two of them kept, so that one damaged file
// loses nothing.
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
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/checkpoint_seal.h"

namespace bandana::server {

using WarningSink = std::function<void(const std::string&)>;

// One file: checkpoint-SEQUENCE or checkpoint-SEQUENCE.copy.
struct CheckpointFile {
  std::uint64_t sequence = 0;
  bool copy = false;
  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes compares with 0.
  friend auto operator<=>(const CheckpointFile&, const CheckpointFile&) = default;
};

// Not thread-safe.
class CheckpointStore {
 public:
  struct Options {
    std::string folder;
    // The newest alone, as two files, in place of the newest two: the log before it goes at once,
    // as it does where entries hold raw rewards.
    bool newest_twice = false;
    std::shared_ptr<const CheckpointSeal> seal;  // null: files are plain
  };
  CheckpointStore(Options options, WarningSink warn)
      : options_(std::move(options)), warn_(std::move(warn)) {}

  // Ascending. Errors: UNAVAILABLE I/O.
  absl::StatusOr<std::vector<CheckpointFile>> Files() const;
  std::string Path(const CheckpointFile& file) const;
  // Errors: DATA_LOSS damaged or unknown; FAILED_PRECONDITION sealed with a key that is not given;
  // NOT_FOUND; UNAVAILABLE I/O.
  absl::StatusOr<Checkpoint> Load(const CheckpointFile& file) const;

  // The newest valid checkpoint, nullopt when there is no file. A damaged file is set aside as
  // `damaged-...` with a warning. Errors: DATA_LOSS files but no valid one; FAILED_PRECONDITION as
  // Load; UNAVAILABLE I/O.
  absl::StatusOr<std::optional<Checkpoint>> LoadNewest();

  // Writes durably, a piece at a time, and removes what is not kept. Returns the sequence up to
  // which the log is not needed any more. Errors: UNAVAILABLE I/O.
  absl::StatusOr<std::uint64_t> Write(std::uint64_t sequence, const ByteSource& checkpoint) {
    return Write(sequence, checkpoint, options_.newest_twice);
  }
  // The same, and no earlier file is left, sound or damaged: this one stands there twice.
  absl::StatusOr<std::uint64_t> WriteAlone(std::uint64_t sequence, const ByteSource& checkpoint);
  // The sequence up to which no entry may stand in the log beside this newest checkpoint.
  std::uint64_t LogGoneBefore(std::uint64_t newest) const {
    return options_.newest_twice ? newest : 0;
  }

 private:
  absl::Status WriteFile(const CheckpointFile& file, const ByteSource& checkpoint) const;
  absl::StatusOr<std::uint64_t> Write(std::uint64_t sequence, const ByteSource& checkpoint,
                                      bool twice);

  const Options options_;
  const WarningSink warn_;
};

}  // namespace bandana::server
