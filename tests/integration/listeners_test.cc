// The listeners of bandana-server: idle and slow connections, IPv6, rates, and what of connections
// is shown.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

constexpr char kModel[] = "models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE }\n";

class Sockets {
 public:
  ~Sockets() {
    for (const int fd : open_) ::close(fd);
  }
  // Opens `n` connections and sends `bytes` over each.
  void Open(const std::string& address, int n, const std::string& bytes) {
    for (int i = 0; i < n; ++i) {
      const int fd = testing::ConnectTo(address);
      ASSERT_GE(fd, 0);
      open_.push_back(fd);
      if (!bytes.empty()) {
        ASSERT_GT(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
      }
    }
  }

 private:
  std::vector<int> open_;
};

class ListenersTest : public ::testing::Test {
 protected:
  void Start(ServerProcess::Options options) {
    options.folder = folder_.path();
    auto server = ServerProcess::Start(options);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  bool LogSays(const std::string& text) {
    for (int i = 0; i < 100 && !absl::StrContains(server_->process().err(), text); ++i) {
      absl::SleepFor(absl::Milliseconds(50));
    }
    return absl::StrContains(server_->process().err(), text);
  }
  grpc::Status SelectByGrpc(const std::string& address) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    v1::SelectRequest request;
    request.set_model("news");
    request.set_user("ann");
    for (const double x : {1.0, 0.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    v1::SelectResponse response;
    const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    return v1::Recommender::NewStub(channel)->Select(&context, request, &response);
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
};

// Browsers that look at the page hold a connection each; a probe must not wait for them.
TEST_F(ListenersTest, IdleAndSlowConnectionsStopNoProbe) {
  Start(
      {.config = absl::StrCat(kModel, "limits { connections_per_address_per_second_max: 100000 }"),
       .arguments = {"--api_listen=127.0.0.1:0"}});
  Sockets sockets;
  for (const std::string& address : {server_->http_listen(), server_->api_listen()}) {
    sockets.Open(address, 150, "");
    sockets.Open(address, 150, "GET /heal");
  }
  sockets.Open(server_->http_listen(), 150, "");
  sockets.Open(server_->http_listen(), 150,
               "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  absl::Duration longest;
  for (int i = 0; i < 20; ++i) {
    for (const char* path : {"/healthz", "/readyz", "/metrics", "/"}) {
      const absl::Time start = absl::Now();
      EXPECT_EQ(HttpRequest(server_->http_listen(), path).status, 200) << path;
      if (path == std::string_view("/healthz")) longest = std::max(longest, absl::Now() - start);
    }
  }
  RecordProperty("healthz_ms", static_cast<int>(absl::ToInt64Milliseconds(longest)));
  EXPECT_LT(longest, absl::Seconds(5));  // civetweb: ten and more
  EXPECT_EQ(HttpRequest(server_->api_listen(), "/v1/models/news").status, 200);
  EXPECT_THAT(HttpRequest(server_->http_listen(), "/metrics").body,
              HasSubstr("bandana_connections_open{listener=\"http_listen\"} 6"));
  EXPECT_EQ(server_->Terminate(), 0);
}

TEST_F(ListenersTest, EveryListenerTakesIpv6) {
  const int probe = testing::ConnectTo("[::1]:1");
  if (probe < 0 && errno == EADDRNOTAVAIL) GTEST_SKIP() << "this machine has no ::1";
  Start({.config = absl::StrCat(kModel, "admin_listen: '[::1]:0'"),
         .listen = "[::1]:0",
         .http_listen = "[::1]:0",
         .arguments = {"--api_listen=[::1]:0"}});
  for (const std::string& address : {server_->listen(), server_->http_listen(),
                                     server_->api_listen(), server_->admin_listen()}) {
    EXPECT_THAT(address, AllOf(StartsWith("[::1]:"), Not(HasSubstr("]:0"))));
    EXPECT_TRUE(LogSays(address)) << address;
  }
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/", "/models/news"}) {
    EXPECT_EQ(HttpRequest(server_->http_listen(), path).status, 200) << path;
  }
  EXPECT_EQ(HttpRequest(server_->api_listen(), "/v1/models/news").status, 200);
  EXPECT_TRUE(SelectByGrpc(server_->listen()).ok());
  EXPECT_EQ(server_->Terminate(), 0);
  // A family is only what the address says.
  Start({.config = absl::StrCat(kModel, "insecure_non_loopback: true"),
         .listen = "[::]:0",
         .http_listen = "[::]:0"});
  const std::string port = server_->http_listen().substr(server_->http_listen().rfind(':'));
  EXPECT_EQ(HttpRequest("[::1]" + port, "/readyz").status, 200);
  EXPECT_EQ(server_->Terminate(), 0);
}

TEST_F(ListenersTest, PagesAnswerReadingMethodsUnderTheirNames) {
  Start({.config = kModel});
  const std::string& http = server_->http_listen();
  const HttpResult post = HttpRequest(http, "/", "POST");
  EXPECT_EQ(post.status, 405);
  EXPECT_EQ(HeaderOf(post, "allow"), "GET, HEAD");
  const HttpResult head = HttpRequest(http, "/healthz", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(HeaderOf(head, "Content-Length"), "3");
  for (const char* path : {"//healthz", "http://localhost/healthz", "/healthz?x=1"}) {
    EXPECT_EQ(HttpRequest(http, path).body, "ok\n") << path;
  }
  EXPECT_EQ(HttpRequest(http, "http://evil.example/healthz").status, 403);
  EXPECT_EQ(testing::Exchange(http, "GET /healthz HTTP/1.1\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  // Checks of balancers that name no host.
  EXPECT_EQ(testing::Exchange(http, "GET /readyz HTTP/1.0\r\n\r\n").substr(9, 3), "200");
  EXPECT_EQ(server_->Terminate(), 0);
}

TEST_F(ListenersTest, AnAddressThatIsTooFastIsSaid) {
  Start({.config = absl::StrCat(kModel, "limits { connections_per_address_per_second_max: 5 }"),
         .arguments = {"--api_listen=127.0.0.1:0"}});
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    refused += HttpRequest(server_->api_listen(), "/v1/models/news").status == 0 ? 1 : 0;
  }
  EXPECT_GT(refused, 5);
  EXPECT_TRUE(LogSays("api_listen: refused new connections: "));
  EXPECT_TRUE(LogSays(" too_fast"));
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("bandana_connections_refused_total{listener=\"api_listen\","
                                 "reason=\"too_fast\"} "));
  EXPECT_THAT(metrics, Not(HasSubstr("listener=\"api_listen\",reason=\"too_fast\"} 0\n")));
  EXPECT_EQ(server_->Terminate(), 0);
}

// A caller may open a connection for each report, so connections tell when reports come.
TEST_F(ListenersTest, ConnectionsAreHiddenWhereReportsAre) {
  Start({.config = "models { name: 'news' dimension: 2 shared {} mode: CENTRAL_REWARD"
                   " privacy { epsilon: 2 delta: 1e-6 }"
                   " reporting { reward_window { duration { seconds: 600 } } } }"
                   " limits { connections_per_address_per_second_max: 1 }",
         .arguments = {"--api_listen=127.0.0.1:0"}});
  Sockets sockets;
  sockets.Open(server_->listen(), 20, "");
  sockets.Open(server_->api_listen(), 20, "");
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(metrics,
              AllOf(HasSubstr("listener=\"http_listen\""), Not(HasSubstr("listener=\"listen\"")),
                    Not(HasSubstr("listener=\"api_listen\"")), Not(HasSubstr("process_open_fds"))));
  absl::SleepFor(absl::Milliseconds(1500));  // the server looks once a second
  EXPECT_THAT(server_->process().err(), Not(HasSubstr("refused new connections")));
  EXPECT_EQ(server_->Terminate(), 0);
}

}  // namespace
}  // namespace bandana::testing
