// Hands the connections of one address to two servers, by the protocol that each speaks.
#pragma once

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "server/service/connections/first_bytes.h"

namespace bandana::server {

// Waits for a connection's first bytes on a thread of its own, and leaves them unread. A connection
// without any for ten seconds is closed. Threads: all methods are safe.
class ProtocolSplit {
 public:
  // Owns the connection from then on.
  using Take = std::function<void(int listener, int connection)>;

  // `tls`: of the connections. The takers outlive it.
  static std::unique_ptr<ProtocolSplit> Start(bool tls, Take http1, Take http2);
  virtual ~ProtocolSplit() = default;

  // Owns the connection.
  virtual void Give(int listener, int connection) = 0;
  // Closes those that wait, and takes no more. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace bandana::server
