#include "server/ops/observation/http_server.h"

#include <civetweb.h>

#include <cstring>
#include <future>
#include <mutex>
#include <utility>

#include "common/base/status.h"
#include "server/service/connections/host_name.h"

namespace bandana::server {
namespace {

// Monitoring polls with one or two connections; a slow reader holds one thread for at most the
// timeout.
constexpr const char* kThreads = "4";
constexpr const char* kRequestTimeoutMs = "10000";
constexpr const char* kRequestBytesMax = "16384";

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

void Write(mg_connection* connection, const HttpResponse& response, bool with_body) {
  const std::string head = absl::StrCat(
      "HTTP/1.1 ", response.status, " ", ReasonOf(response.status),
      "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff"
      "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'"
      "\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (with_body) mg_write(connection, response.body.data(), response.body.size());
}

class CivetServer final : public HttpServer {
 public:
  explicit CivetServer(HttpHandler handler) : handler_(std::move(handler)) {}
  ~CivetServer() override {
    if (context_ != nullptr) mg_stop(context_);
    mg_exit_library();
  }

  absl::Status Bind(const Address& listen) {
    mg_init_library(0);
    const std::string ports = ToString(listen);
    const char* options[] = {"listening_ports",
                             ports.c_str(),
                             "num_threads",
                             kThreads,
                             "request_timeout_ms",
                             kRequestTimeoutMs,
                             "max_request_size",
                             kRequestBytesMax,
                             "enable_keep_alive",
                             "no",
                             nullptr};
    mg_callbacks callbacks;
    std::memset(&callbacks, 0, sizeof callbacks);
    callbacks.begin_request = &CivetServer::BeginRequest;
    callbacks.log_message = &CivetServer::LogMessage;
    context_ = mg_start(&callbacks, this, options);
    if (context_ == nullptr) {
      const std::string why = FirstMessage();
      return Unavailable("cannot listen on ", ports, why.empty() ? "" : ": ", why);
    }
    mg_server_port bound[1];
    if (mg_get_server_ports(context_, 1, bound) != 1) {
      return Unavailable("no port of ", ports, " is open");
    }
    address_ = {.host = listen.host, .port = static_cast<std::uint16_t>(bound[0].port)};
    return absl::OkStatus();
  }

  const Address& address() const override { return address_; }

 private:
  static int BeginRequest(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    const auto& self = *static_cast<CivetServer*>(request->user_data);
    const std::string_view method = request->request_method;
    HttpResponse response{.status = 405, .body = "only GET and HEAD\n"};
    if (!self.IsAskedByItsName(mg_get_header(connection, "Host"))) {
      response = {.status = 403, .body = "ask under localhost or a loopback address\n"};
    } else if (method == "GET" || method == "HEAD") {
      // The library's threads have stacks of 100 KiB, which a page of many models can use up.
      const auto answer = [&] { return self.handler_(request->local_uri); };
      response = std::async(std::launch::async, answer).get();
    }
    Write(connection, response, method != "HEAD");
    return response.status;
  }

  // On a loopback address a page of another name must not read what is here. No browser leaves the
  // host out.
  bool IsAskedByItsName(const char* host) const {
    return !IsLoopback(address_) || host == nullptr || IsLoopbackHost(host);
  }

  // Keeps the first message, which is why mg_start failed if it did. Later ones are about clients
  // and not worth a log line.
  static int LogMessage(const mg_connection* connection, const char* message) {
    auto* self = static_cast<CivetServer*>(mg_get_user_data(mg_get_context(connection)));
    if (self == nullptr) return 1;
    const std::lock_guard lock(self->mutex_);
    if (self->error_.empty()) self->error_ = message;
    return 1;
  }

  std::string FirstMessage() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  const HttpHandler handler_;
  Address address_;
  std::mutex mutex_;
  std::string error_;
  mg_context* context_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const Address& listen,
                                                              HttpHandler handler) {
  auto server = std::make_unique<CivetServer>(std::move(handler));
  BANDANA_RETURN_IF_ERROR(Annotate(server->Bind(listen), "http_listen"));
  return server;
}

}  // namespace bandana::server
