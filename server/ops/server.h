// The server as one object: storage, models, listeners, and the order in which they come and go.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "server/models/registry.h"
#include "server/ops/config/server_spec.h"
#include "server/ops/security.h"

namespace bandana::server {

// Threads: all methods are safe.
class Server {
 public:
  // Locks data_dir, recovers every model, listens. Calls `show_token` before it listens, or in
  // Reload, each time it draws a token. Errors: whatever keeps it from serving, named.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerSpec spec, const Clock& clock,
                                                       ShowToken show_token);
  // Does all that Start does short of listening, with files in the folder `spec.data_dir` alone,
  // for a configuration that is tried. Returns the models and aliases that would not be served.
  // Errors: as Start.
  static absl::StatusOr<std::vector<AbsentModel>> Try(ServerSpec spec, const Clock& clock);
  // As Drain without a delay, unless it has drained.
  virtual ~Server() = default;

  // With real ports.
  virtual std::string listen() const = 0;
  virtual std::string http_listen() const = 0;
  // Empty: Admin is on listen().
  virtual std::string admin_listen() const = 0;
  // Empty: there is no HTTP API.
  virtual std::string api_listen() const = 0;
  // Empty: there is no listener for other servers.
  virtual std::string peers_listen() const = 0;

  // OK while a model can take reports or none is there, or why none can take any more.
  virtual absl::Status Health() const = 0;

  // To be called about once per second: samples for the status page and metrics, ages of
  // posteriors, lines about calls and about models that refuse reports, models that are to be
  // opened again.
  virtual void Tick() = 0;

  // Takes of a configuration that was read again what a running server can take: models, aliases,
  // access rules, log level, and the limits arms_per_request_max, batch_decisions_max and
  // models_max. Absent: it has a mistake, and nothing changes. A change that is not taken is logged
  // by name, and the rest goes on; a server does not open or close itself for callers without rules
  // while it runs. False when something was not taken.
  virtual bool Reload(std::optional<ServerSpec> spec) = 0;

  // Turns health to NOT_SERVING, calls `wait`, refuses new calls, finishes those in flight and
  // writes checkpoints. Errors: of the checkpoints; what was acknowledged is durable all the same.
  virtual absl::Status Drain(const std::function<void()>& wait) = 0;
};

}  // namespace bandana::server
