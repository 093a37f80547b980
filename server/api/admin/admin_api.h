// The HTTP side of a listener that has Admin alone.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "server/api/admin/admin_http.h"

namespace bandana::server {

class TlsReloader;

struct AdminApiOptions {
  AdminHttpOptions admin;
  std::shared_ptr<TlsReloader> tls;  // null: plaintext
  ConnectionLimits connections;
  int body_bytes_max = 1 << 20;  // of what is no upload
  ConductSink conduct;           // of the listener
};

// Threads: all methods are safe.
class AdminApi {
 public:
  static std::unique_ptr<AdminApi> Start(AdminApiOptions options);
  // As Shutdown without patience.
  virtual ~AdminApi() = default;

  // Serves a connection that the listener took, and owns its descriptor. Not after Shutdown.
  virtual void Take(int connection) = 0;
  // As ApiServer's. After the listener has stopped to take connections.
  virtual void Shutdown(absl::Duration patience) = 0;
};

}  // namespace bandana::server
