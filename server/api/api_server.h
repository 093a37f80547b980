// The HTTP API: JSON, gRPC-Web and the Personalizer API, on a listener with threads and
// limits of its own. It runs the handlers that gRPC's calls run, behind the same access rules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/limits.h"
#include "server/api/admin/admin_http.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/connections/acceptor.h"
#include "server/service/transport/call_log.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

class TlsReloader;

// The Personalizer API.
struct PersonalizerSettings {
  std::string model;        // empty: the one that the caller's principal may name
  bool apprentice = false;  // answer the caller's first action
};

struct ApiServerOptions {
  std::string listen = "127.0.0.1:7072";  // host:port, port 0: any free one
  std::shared_ptr<TlsReloader> tls;       // null: plaintext
  ConnectionLimits connections;
  int threads = 4;
  int body_bytes_max = 1 << 20;
  std::vector<std::string> allowed_origins;  // IsOrigin, or "*"
  PersonalizerSettings personalizer;
  Gatekeeper* gatekeeper = nullptr;  // null: every caller has every role; must outlive the server
  int calls_in_flight_max = kCallsInFlightMaxDefault;
  CallObserver* observer = nullptr;  // may be null; must outlive the server
  CallLog* log = nullptr;            // may be null; must outlive the server
  CallLog* spans = nullptr;          // the same: CallDeskOptions::spans
  std::optional<AdminDoor> admin;    // absent: Admin is not on this listener
  std::string recipes;               // as AdminHttpOptions
};

// Threads: all methods are safe.
class ApiServer {
 public:
  // Binds and serves. `handlers` must outlive the server, and the late Finish of a Report need not.
  // Errors: UNAVAILABLE the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(const ApiServerOptions& options,
                                                          Handlers& handlers);
  // As Shutdown without patience.
  virtual ~ApiServer() = default;

  // Where it listens, with the real port.
  virtual const std::string& address() const = 0;
  // Those of the calls in flight that others may know of (Handlers::KeepsReportsUnrecorded).
  virtual int calls_shown() const = 0;
  // Nothing while some model hides when its reports come: callers of HTTP may open a connection for
  // each.
  virtual std::optional<ConnectionStats> connections() const = 0;
  // As GrpcServer::Shutdown.
  virtual void Shutdown(absl::Duration patience) = 0;
};

}  // namespace bandana::server
