// Bounds on the streaming calls of Admin: how many at a time, and how long each may take.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace grpc {
class ServerContext;
}

namespace bandana::server {

// A blocking read of a synchronous stream ends only when the peer or somebody else ends it: one
// thread cancels calls that are open for too long. Threads: all methods are safe.
class StreamGuard {
 public:
  struct Options {
    int streams_max = 0;
    absl::Duration stream_life_max;
  };

  // While it lives, the call counts and is watched. Destroy it before the call's context goes.
  class Lease {
   public:
    Lease(StreamGuard& guard, std::uint64_t id) : guard_(&guard), id_(id) {}
    Lease(Lease&& other) noexcept : guard_(std::exchange(other.guard_, nullptr)), id_(other.id_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    // The call may take so much longer. Nothing once it was cancelled.
    void Extend(absl::Duration by);

   private:
    StreamGuard* guard_;
    std::uint64_t id_;
  };

  explicit StreamGuard(const Options& options);
  ~StreamGuard();  // every lease must be gone

  // Errors: RESOURCE_EXHAUSTED streams_max are open.
  absl::StatusOr<Lease> Enter(grpc::ServerContext& context);

 private:
  struct Watched {
    absl::Time deadline;
    grpc::ServerContext* context = nullptr;  // null once cancelled
  };
  // Those that are cancelled come last.
  static bool Before(const Watched& a, const Watched& b) {
    const bool watched_a = a.context != nullptr;
    const bool watched_b = b.context != nullptr;
    return watched_a != watched_b ? watched_a : a.deadline < b.deadline;
  }
  void Leave(std::uint64_t id);
  void Extend(std::uint64_t id, absl::Duration by);
  void Watch();

  const Options options_;
  std::mutex mutex_;  // guards what follows, but the thread
  std::condition_variable changed_;
  bool stopping_ = false;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, Watched> open_;
  std::thread watcher_;
};

}  // namespace bandana::server
