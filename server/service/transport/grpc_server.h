// The gRPC listener. Recommender and grpc.health.v1 run on asynchronous completion queues, one
// thread per queue; other services (Admin, reflection) on gRPC's own threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/connections/acceptor.h"
#include "server/service/transport/call_log.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/handlers.h"

namespace grpc {
class Channel;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace bandana::server {

struct GrpcServerOptions {
  std::string listen = "127.0.0.1:7070";  // host:port (port 0: any free one) or unix:PATH
  std::shared_ptr<grpc::ServerCredentials> credentials;  // null: plaintext
  ConnectionLimits connections;                          // not of unix:PATH
  // Bound to `listen` before; null: Start binds. For whoever must know the port before it serves.
  std::shared_ptr<Acceptor> acceptor;
  Gatekeeper* gatekeeper = nullptr;  // null: every caller has every role; must outlive the server
  // Completion queues, each with one thread. More than one pays only with more than two cores.
  int queues = 1;                                      // [1, 64]
  int calls_in_flight_max = kCallsInFlightMaxDefault;  // [1, kCallsInFlightMaxMax]
  int watches_max = kWatchesMaxDefault;                // [1, kWatchesMaxMax]
  // How often open health watches are compared with the handlers' answers; HealthChanged() does it
  // at once.
  absl::Duration watch_interval = absl::Milliseconds(500);
  // Seldom called, beside a server of this process that is busy: its queues are looked at
  // (aside.h).
  bool aside = false;
  bool reflection = true;
  // gRPC's own bound on one message: Admin's, when it is among the services.
  int receive_bytes_max = kAdminMessageBytesMax;
  std::vector<grpc::Service*>
      services;  // synchronous services; must outlive the server. Never callback services: one of
                 // them halves the queues' throughput
  std::vector<std::string> service_names;  // their full names, for reflection
  // Answers that clients do not read: how much memory together, how long each.
  std::int64_t unread_bytes_max = kUnsentBytesMax;
  absl::Duration unread_time_max = absl::Seconds(10);
  CallObserver* observer = nullptr;  // may be null; must outlive the server
  CallLog* log = nullptr;            // may be null; must outlive the server
  CallLog* spans = nullptr;          // the same: CallDeskOptions::spans
};

// Threads: all methods are safe.
//
// Limits it enforces on Recommender's calls, before any work is done:
//   connections                   reset before anything is read; closed when too many of a
//                                 connection's calls bring wrong credentials or are too large
//   streams of a connection       closed, when there are four times as many as a client may open
//   kHotMessageBytesMax           RESOURCE_EXHAUSTED, pushback -1 (do not retry); an offence, and a
//                                 grave one above kAdminMessageBytesMax. gRPC's own limit,
//                                 receive_bytes_max, acts first on what is larger still, with the
//                                 same code and without an offence
//   draining                      UNAVAILABLE
//   gatekeeper                    UNAUTHENTICATED, PERMISSION_DENIED; RESOURCE_EXHAUSTED with the
//                                 pushback after which the caller's rate allows a call
//   calls_in_flight_max           RESOURCE_EXHAUSTED, trailing metadata grpc-retry-pushback-ms.
//                                 Report and Submit together may hold three quarters of it, so that
//                                 a slow disk cannot shut out Select
//   unread_bytes_max              RESOURCE_EXHAUSTED in place of an answer; an answer that is not
//                                 read for unread_time_max (a second, above half of it) is dropped
//   deadline passed on arrival    DEADLINE_EXCEEDED
//   bytes that do not parse       INVALID_ARGUMENT
class GrpcServer {
 public:
  // Binds, starts the threads, serves. `handlers` must outlive the server, and the late Finish of a
  // Report need not. Errors: INVALID_ARGUMENT options; UNAVAILABLE the address cannot be bound (in
  // use by another server, say).
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           Handlers& handlers);
  // As Shutdown without patience.
  virtual ~GrpcServer() = default;

  // Where it listens, with the real port.
  virtual const std::string& address() const = 0;
  // Admitted calls that are not answered yet.
  virtual int calls_in_flight() const = 0;
  // Those of them that others may know of (Handlers::KeepsReportsUnrecorded).
  virtual int calls_shown() const = 0;
  // Nothing while some model hides when its reports come: a caller may open a connection for each.
  virtual std::optional<ConnectionStats> connections() const = 0;
  // Takes note of a call of a synchronous service: see Acceptor::Report.
  virtual void Report(const std::string& grpc_peer, Conduct conduct) = 0;
  // A channel of this process to the services, without a socket. It must end before the server.
  virtual std::shared_ptr<grpc::Channel> InProcess() = 0;
  // Compares open health watches with the handlers' answers now.
  virtual void HealthChanged() = 0;
  // Health says NOT_SERVING from now on; calls are still answered, so that load balancers can turn
  // away first.
  virtual void SetDraining() = 0;
  // Refuses new calls, waits with `patience` for those in flight, finishes what is left with
  // UNAVAILABLE, closes all connections and ends the threads. A Finish that comes later is ignored.
  // Returns soon after `patience` (running handlers and calls of the synchronous services must
  // return). May be called more than once; later calls wait for the first.
  virtual void Shutdown(absl::Duration patience) = 0;
};

}  // namespace bandana::server
