// How many decisions were taken and written, and how far the model's log was read: in a mapped
// file, so that a killed process leaves the number of those that it had taken and not yet written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bandana::server {

// Threads: safe. Several objects may have one file at a time.
class DecisionCounts {
 public:
  // Makes the file where it is missing; one of another format begins anew. Errors:
  // RESOURCE_EXHAUSTED; UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<DecisionCounts>> Open(const std::string& path);
  ~DecisionCounts();
  DecisionCounts(const DecisionCounts&) = delete;
  DecisionCounts& operator=(const DecisionCounts&) = delete;

  // A decision was answered with a token.
  void Take() { shared_->taken.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t taken() const { return shared_->taken.load(std::memory_order_relaxed); }
  // Those of them that became lines, ever.
  void Write(std::uint64_t lines) { shared_->written.fetch_add(lines, std::memory_order_relaxed); }
  std::uint64_t written() const { return shared_->written.load(std::memory_order_relaxed); }
  // After a crash of the machine the files may know of more than the counts do.
  void AtLeast(std::uint64_t written);

  // All rows of the model's log up to an entry are durable in the files, since some time of the
  // model's clock. Sequence 0: nobody has said.
  struct Through {
    std::uint64_t sequence = 0;
    absl::Time time = absl::InfinitePast();
  };
  // From one thread at a time.
  void SetThrough(const Through& through);
  Through through() const;
  // Whether a decision was deferred, ever: then the openings of windows are rows as well.
  bool deferred() const { return shared_->deferred.load(std::memory_order_relaxed) != 0; }
  void SetDeferred() { shared_->deferred.store(1, std::memory_order_relaxed); }
  // All that was said before is durable on return. Errors: UNAVAILABLE.
  absl::Status Sync();

 private:
  struct Shared {
    std::uint64_t magic;
    std::atomic<std::uint64_t> taken;
    std::atomic<std::uint64_t> written;
    std::atomic<std::uint64_t> through;
    std::atomic<std::int64_t> through_nanos;
    std::atomic<std::uint64_t> deferred;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  explicit DecisionCounts(Shared* shared) : shared_(shared) {}

  Shared* const shared_;
};

}  // namespace bandana::server
