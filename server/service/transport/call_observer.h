// The transport's report of the calls it answered. Metrics implement it.
#pragma once

#include "absl/time/time.h"
#include "server/service/transport/rpcs.h"

namespace bandana::server {

// Hears of rpcs on the queues. Threads: OnCall is called by the queue threads and, for Report and
// Submit, by the thread that completes them; it must be safe and must not block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // Once per call that is not refused on arrival, when its work begins: how long it waited.
  virtual void OnStart(const Rpc& rpc, absl::Duration waited) = 0;
  // Once per call, when its answer is handed to gRPC. `status_code` is a grpc::StatusCode;
  // `duration` runs from the moment the transport took the call in, waiting included.
  virtual void OnCall(const Rpc& rpc, int status_code, absl::Duration duration) = 0;
};

}  // namespace bandana::server
