// How many decisions were taken and written: in a mapped file, so that a killed process leaves the
// number of those that it had taken and not yet written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

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

 private:
  struct Shared {
    std::uint64_t magic;
    std::atomic<std::uint64_t> taken;
    std::atomic<std::uint64_t> written;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  explicit DecisionCounts(Shared* shared) : shared_(shared) {}

  Shared* const shared_;
};

}  // namespace bandana::server
