// Ends a call that does not move.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace bandana {

// A call of any size cannot have one deadline: it is cancelled when nothing has moved for
// `longest`. Threads: Moved and stalled are safe.
class StallWatch {
 public:
  // `context` must outlive it.
  StallWatch(grpc::ClientContext& context, absl::Duration longest);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  void Moved();
  // Whether it has cancelled the call.
  bool stalled() const;

 private:
  void Watch();

  grpc::ClientContext& context_;
  const absl::Duration longest_;
  mutable std::mutex mutex_;  // guards what follows, but the thread
  std::condition_variable changed_;
  absl::Time moved_;
  bool stalled_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace bandana
