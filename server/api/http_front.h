// A listener for HTTP/1.1: sockets, TLS, bounds and times. It knows no models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/service/connections/acceptor.h"

namespace bandana::server {

class TlsReloader;

struct HttpHeader {
  std::string name;  // of requests: in lower case
  std::string value;
};

// Where a target has scheme and host (`GET http://host/path`), the host stands for the header's.
struct HttpCall {
  std::string method;
  std::string path;                 // up to a `?`; slashes in a row are one
  std::string query;                // behind it
  std::vector<HttpHeader> headers;  // of the head alone, no trailers
  std::string body;
  std::string peer;                   // as gRPC names it
  std::vector<std::string> subjects;  // of a client certificate that TLS has verified

  // The value of the first header with this name, in lower case; empty: none.
  std::string_view Header(std::string_view name) const;
};

// The body of an answer that is made while it is sent. Threads: one call of Next at a time. It is
// destroyed when nobody takes it any more.
class HttpParts {
 public:
  // A part; empty: there is none any more. An error cuts the connection, so that no reader takes
  // the body for whole: by its last chunk that does not come, and in HTTP/1.0 by a reset.
  using Take = std::function<void(absl::StatusOr<std::string>)>;

  virtual ~HttpParts() = default;
  // Calls `take` once, at once or later, on any thread. Once the listener has stopped nothing comes
  // of it.
  virtual void Next(Take take) = 0;
};

struct HttpAnswer {
  int status = 200;
  std::vector<HttpHeader> headers;  // all but those of the connection and the length
  std::string body;
  std::shared_ptr<HttpParts> parts = nullptr;  // in place of `body`
};

// Answers one call, exactly once, on any thread.
using AnswerHttp = std::function<void(HttpAnswer)>;

// Threads: all methods are called by the listener's threads, several at once.
class HttpService {
 public:
  virtual ~HttpService() = default;
  virtual void Handle(HttpCall call, AnswerHttp answer) = 0;
  // The bytes that a call with this head may bring. `usual`: HttpFrontOptions::body_bytes_max.
  virtual std::size_t BodyBytesMax(const HttpCall&, std::size_t usual) const { return usual; }
  // How long a call with this head may take until its answer is there.
  virtual absl::Duration TimeFor(const HttpCall&) const { return absl::InfiniteDuration(); }
  // The answer to what never becomes a call: 400 no HTTP, or such as proxies may read another way;
  // 413 a body that is too long, 431 a head that is too long, 501 another transfer coding than
  // `chunked`, 503 too much is being read, or waits to be read, at a time; and 504 to a call whose
  // time is over. `head` has what was understood so far.
  virtual HttpAnswer Refusal(int status, const HttpCall& head) = 0;
};

struct HttpFrontOptions {
  std::string listen;                // host:port, port 0: any free one
  std::shared_ptr<TlsReloader> tls;  // null: plaintext
  ConnectionLimits connections;
  int threads = 4;  // each with connections of its own
  std::size_t body_bytes_max = 1 << 20;
  // All bodies that are being read or answered, all that are larger than usual beside them, and all
  // answers that are not read yet.
  std::size_t bodies_bytes_max = 64 << 20;
  std::size_t answers_bytes_max = 64 << 20;
  absl::Duration handshake_time = absl::Seconds(10);
  absl::Duration idle_time = kHttpIdleDefault;   // until the head of the next request is there
  absl::Duration body_time = absl::Seconds(20);  // and a second per MiB
  absl::Duration write_time = absl::Seconds(20);
};

// No slow peer holds a thread: sockets are only waited for. Threads: all methods are safe.
class HttpFront {
 public:
  // Binds. `service` must outlive it; a late answer need not come before its end. Errors: of
  // Acceptor::Bind.
  static absl::StatusOr<std::unique_ptr<HttpFront>> Bind(const HttpFrontOptions& options,
                                                         HttpService& service);
  // Has no listener of its own: connections are handed over by Take, and their limits are those of
  // the listener that they came by. `options.listen`: its address.
  static std::unique_ptr<HttpFront> Over(const HttpFrontOptions& options, HttpService& service);
  // As Stop.
  virtual ~HttpFront() = default;
  // Serves. Call once.
  virtual void Start() = 0;

  // Serves a connection, and owns its descriptor. Not after Stop.
  virtual void Take(int connection) = 0;
  virtual const std::string& address() const = 0;
  // See Acceptor::Report.
  virtual void Report(const std::string& peer, Conduct conduct) = 0;
  virtual ConnectionStats connections() const = 0;
  // From now on each connection ends with its next answer, and no new one is taken.
  virtual void SetDraining() = 0;
  // Waits until the peers have read the answers that are on their way; beyond the deadline for a
  // moment at most.
  virtual void Flush(absl::Time steady_deadline) = 0;
  // Closes all connections and ends the threads. Idempotent. Answers that come later are dropped.
  virtual void Stop() = 0;
};

}  // namespace bandana::server
