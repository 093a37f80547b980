// Writes a model's checkpoints, one at a time, and says which log entries no longer matter.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/checkpoint_pace.h"
#include "server/models/folder/checkpoint_store.h"

namespace bandana::server {

// Threads: all methods are safe, but for Begin, which is one thread's.
class CheckpointWriter {
 public:
  using Captured = std::shared_ptr<const FrozenCheckpoint>;
  struct Options {
    CheckpointStore::Options store;
    WarningSink warn;
    bool stepped = false;  // HostedModelOptions
    // The newest log entry: writing takes its time while there are more and more.
    std::function<std::uint64_t()> last;
    // Entries up to this sequence may go.
    std::function<void(std::uint64_t sequence)> trim;
  };
  explicit CheckpointWriter(Options options);

  // Encodes and writes it, unless it is there already, and trims the log. Returns its length.
  absl::StatusOr<std::size_t> Write(const FrozenCheckpoint& captured);
  // As above on a thread of its own, where the model has threads. Requires !running().
  void Begin(Captured captured);
  bool running() const { return running_.load(); }
  // Makes it the only one, so that no file has the bytes of what those before held. False: a newer
  // one was written meanwhile.
  absl::StatusOr<bool> WriteAlone(const FrozenCheckpoint& captured);
  // CheckpointStore::LogGoneBefore.
  std::uint64_t LogGoneBefore(std::uint64_t sequence) const {
    return store_.LogGoneBefore(sequence);
  }

  // Nobody takes his time any more.
  void Hurry() { ++awaited_; }
  // Waits until what has begun is written. The last thing that is asked of it.
  void Finish();

 private:
  // After so many bytes of one are encoded, and written where they have changed.
  void Pace(std::size_t bytes);

  struct Written {
    std::uint64_t sequence = 0;
    Sha256Digest beside_the_log{};
    std::size_t bytes = 0;
  };
  const Options options_;
  std::atomic<int> awaited_{0};  // by so many who cannot wait: none takes its time
  std::mutex mutex_;             // for what follows
  CheckpointPace pace_;
  CheckpointStore store_;
  std::uint64_t newest_ = 0;        // written by this process
  std::optional<Written> written_;  // the newest, once it is whole

  std::atomic<bool> running_{false};
  std::future<void> task_;  // of the thread that begins, until Finish
};

}  // namespace bandana::server
