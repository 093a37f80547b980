// The listener of the pages: GET and HEAD of what is made on request.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/address.h"
#include "server/ops/observation/pages.h"
#include "server/service/connections/acceptor.h"

namespace bandana::server {

// Path, without its query -> response. Called by two threads.
using PageHandler = std::function<HttpResponse(std::string_view path)>;

// Connections that are idle, or slow, hold no thread, and /healthz is answered while pages are
// being made. Threads: all methods are safe.
class PageServer {
 public:
  // Binds and serves. Errors: UNAVAILABLE the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<PageServer>> Start(const Address& listen,
                                                           const ConnectionLimits& connections,
                                                           PageHandler handler);
  // Waits for pages that are being made.
  virtual ~PageServer() = default;

  // Where it listens, with the real port.
  virtual const std::string& address() const = 0;
  virtual ConnectionStats connections() const = 0;
};

}  // namespace bandana::server
