// Calls of one listener whose handlers will finish later.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "absl/status/status.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Whoever takes a call out answers it. So a Finish that comes after the listener gave up, or even
// after it is gone, finds nothing. Threads: safe.
class UnfinishedCalls {
 public:
  // `answer` is never null. Returns the ticket to take it with; 0 when closed.
  std::uint64_t Add(Finish answer);
  // Null when it was taken before.
  Finish Take(std::uint64_t ticket);
  // Takes no more, and answers all that are there.
  void Close(const absl::Status& status);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Finish> calls_;
  std::uint64_t next_ = 1;
  bool closed_ = false;
};

}  // namespace bandana::server
