#include "server/ops/page_server.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

#include "common/base/status.h"
#include "server/api/http_front.h"
#include "server/service/connections/host_name.h"

namespace bandana::server {
namespace {

// A page of many models takes milliseconds; a second one is made beside it.
constexpr std::size_t kMakers = 2;
constexpr std::size_t kBodyBytesMax = 4096;  // nobody reads one

HttpAnswer AnswerOf(HttpResponse page) {
  return {.status = page.status,
          .headers = {{"content-type", std::move(page.content_type)},
                      {"cache-control", "no-store"},
                      {"x-content-type-options", "nosniff"},
                      {"content-security-policy", "default-src 'none'; style-src 'unsafe-inline'"}},
          .body = std::move(page.body)};
}

HttpAnswer Said(int status, std::string text) {
  return AnswerOf({.status = status, .body = std::move(text)});
}

class Pages final : public PageServer, public HttpService {
 public:
  Pages(Address listen, PageHandler handler)
      : listen_(std::move(listen)), handler_(std::move(handler)), makers_(kMakers) {}
  ~Pages() override {
    makers_.join();
    if (front_ != nullptr) front_->Stop();
  }

  absl::Status Serve(const ConnectionLimits& connections) {
    HttpFrontOptions options;
    options.listen = ToString(listen_);
    options.connections = connections;
    options.idle_time = connections.http_idle;
    options.threads = 1;
    options.body_bytes_max = kBodyBytesMax;
    BANDANA_ASSIGN_OR_RETURN(front_, HttpFront::Bind(options, *this));
    front_->Start();
    return absl::OkStatus();
  }

  const std::string& address() const override { return front_->address(); }
  ConnectionStats connections() const override { return front_->connections(); }

  void Handle(HttpCall call, AnswerHttp answer) override {
    const std::string_view host = call.Header("host");
    if (!host.empty() && !IsOwnHost(listen_, host)) {
      return answer(Said(403,
                         "host: ask under localhost, an address, a name that only your network "
                         "has, or the name in http_listen\n"));
    }
    if (call.method != "GET" && call.method != "HEAD") {
      HttpAnswer refused = Said(405, "only GET and HEAD\n");
      refused.headers.push_back({"allow", "GET, HEAD"});
      return answer(std::move(refused));
    }
    if (call.path == kHealthPath) return answer(AnswerOf(Healthy()));
    boost::asio::post(makers_, [this, path = std::move(call.path), answer = std::move(answer)] {
      answer(AnswerOf(handler_(path)));
    });
  }

  HttpAnswer Refusal(int status, const HttpCall&) override {
    return Said(status, status == 503 ? "too much is being sent at a time\n"
                                      : "this is no request that is understood here\n");
  }

 private:
  const Address listen_;
  const PageHandler handler_;
  boost::asio::thread_pool makers_;
  std::unique_ptr<HttpFront> front_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(const Address& listen,
                                                              const ConnectionLimits& connections,
                                                              PageHandler handler) {
  auto server = std::make_unique<Pages>(listen, std::move(handler));
  BANDANA_RETURN_IF_ERROR(Annotate(server->Serve(connections), "http_listen"));
  return server;
}

}  // namespace bandana::server
