// grpc.health.v1 Watch: long calls that are told every change of a service's status. Internal to
// GrpcServer.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/async_stream.h>

#include <list>
#include <memory>
#include <mutex>

#include "absl/time/time.h"
#include "server/service/transport/ports.h"
#include "server/service/transport/transport.h"

namespace bandana::server {

// The Watch calls of one queue. Threads: all methods are safe.
//
// Invariants:
//   1. At most watches_max watches are open; a further one is answered RESOURCE_EXHAUSTED.
//   2. A watch has at most one operation under way, Write or Finish. Of the statuses that change
//      meanwhile the newest is sent after it.
//   3. Each watch counts in TransportState::objects until gRPC has given back everything of it.
class HealthWatches {
 public:
  struct Options {
    int watches_max = 0;
    absl::Duration interval;  // between looks at the statuses, while a watch is open
  };
  // References must outlive the object; `queue` must deliver its events.
  HealthWatches(const Options& options, HealthService& service, const ServingQuery& serving,
                Queue& queue);
  ~HealthWatches();

  // Waits for the first client.
  void Start();
  // Sends every status that changed.
  void Refresh();
  // Finishes every watch with UNAVAILABLE; accepts no new ones.
  void Close();

 private:
  class Watch;
  class Tick;

  void Post();
  void ArmLocked();
  void OnTick(bool ok);

  const Options options_;
  HealthService& service_;
  const ServingQuery& serving_;
  Queue& queue_;

  std::mutex mutex_;
  std::list<Watch*> open_;
  bool closed_ = false;
  bool armed_ = false;
  const std::unique_ptr<Tick> tick_;
  grpc::Alarm alarm_;
};

}  // namespace bandana::server
