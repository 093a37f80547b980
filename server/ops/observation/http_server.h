// A small HTTP listener (civetweb) for pages that are made on request: GET and HEAD only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/address.h"

namespace bandana::server {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Path, without its query -> response. Called by the listener's threads, several at once.
using HttpHandler = std::function<HttpResponse(std::string_view path)>;

// Threads: all methods are safe.
class HttpServer {
 public:
  // Binds and serves. Errors: UNAVAILABLE the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const Address& listen,
                                                           HttpHandler handler);
  // Finishes the requests that are being answered.
  virtual ~HttpServer() = default;

  // Where it listens, with the real port.
  virtual const Address& address() const = 0;
};

}  // namespace bandana::server
