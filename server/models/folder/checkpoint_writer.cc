#include "server/models/folder/checkpoint_writer.h"

#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"

namespace bandana::server {

CheckpointWriter::CheckpointWriter(Options options)
    : options_(std::move(options)), store_(options_.store, options_.warn) {}

void CheckpointWriter::Pace(std::size_t bytes) {
  if (options_.stepped || awaited_ > 0) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  absl::SleepFor(
      pace_.WaitAfter(bytes, options_.last(), absl::UnixEpoch() + absl::FromChrono(now)));
}

absl::StatusOr<std::size_t> CheckpointWriter::Write(const FrozenCheckpoint& captured) {
  std::size_t size = 0;
  const ByteSource checkpoint = [&](const ByteSink& sink) {
    size = 0;
    return captured.Encode([&](std::string_view bytes) -> absl::Status {
      size += bytes.size();
      BANDANA_RETURN_IF_ERROR(sink(bytes));
      Pace(bytes.size());
      return absl::OkStatus();
    });
  };
  const std::lock_guard lock(mutex_);
  // A checkpoint taken before a deletion must not come back after it.
  if (captured.sequence() < newest_) return size;
  const Sha256Digest beside_the_log = captured.BesideTheLog();
  if (written_ && written_->sequence == captured.sequence() &&
      written_->beside_the_log == beside_the_log) {
    BANDANA_ASSIGN_OR_RETURN(const bool there, store_.Has(written_->sequence));
    if (there) return written_->bytes;
  }
  written_.reset();
  newest_ = captured.sequence();
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t older,
                           store_.Write(captured.sequence(), checkpoint));
  written_ = {captured.sequence(), beside_the_log, size};
  options_.trim(older);
  return size;
}

void CheckpointWriter::Begin(Captured captured) {
  running_ = true;
  auto write = [this, captured = std::move(captured)]() mutable {
    const absl::Status written = Write(*captured).status();
    captured.reset();  // the task lives until the next checkpoint
    if (!written.ok()) options_.warn(absl::StrCat("checkpoint: ", written.message()));
    running_ = false;
  };
  if (options_.stepped) return write();
  task_ = std::async(std::launch::async, std::move(write));
}

absl::StatusOr<bool> CheckpointWriter::WriteAlone(const FrozenCheckpoint& captured) {
  const ByteSource checkpoint = [&](const ByteSink& sink) { return captured.Encode(sink); };
  ++awaited_;
  const std::lock_guard lock(mutex_);
  --awaited_;
  if (captured.sequence() < newest_) return false;
  newest_ = captured.sequence();
  written_.reset();  // it is replaced by one without the deleted
  BANDANA_RETURN_IF_ERROR(store_.WriteAlone(captured.sequence(), checkpoint).status());
  return true;
}

void CheckpointWriter::Finish() {
  Hurry();
  if (task_.valid()) task_.wait();
}

}  // namespace bandana::server
