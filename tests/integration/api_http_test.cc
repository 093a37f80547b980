// The HTTP API at the edges of HTTP itself: forms of targets, heads that are read two ways,
// content, names of hosts, and times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "server/api/api_server.h"
#include "tests/integration/api_handlers.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using Json = nlohmann::json;

constexpr char kSelectBody[] = R"({"user":"ann","arms":{"inlineArms":{"features":[1,0,0,1]}}})";
constexpr char kReward[] = R"({"value":1})";
constexpr char kRewardPath[] = "/personalizer/v1.0/events/e-1/reward";

class ApiHttpTest : public ::testing::Test {
 protected:
  ApiHttpTest() {
    handlers_.model.set_dimension(16);
    handlers_.model.set_feature_l2_max(1);
    handlers_.model.set_mode(v1::NON_PRIVATE);
    options_.listen = "127.0.0.1:0";
    options_.personalizer.model = "loop";
  }
  void Start() {
    auto server = ApiServer::Start(options_, handlers_);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    // On 0.0.0.0 it is reached by loopback all the same.
    address_ = "127.0.0.1" + server_->address().substr(server_->address().rfind(':'));
  }
  HttpResult Send(const HttpSent& sent) const { return testing::Send(address_, sent); }
  int StatusOf(const std::string& bytes) const {
    const std::string answer = testing::Exchange(address_, bytes);
    return answer.starts_with("HTTP/1.") ? std::atoi(answer.c_str() + 9) : 0;
  }

  ApiHandlers handlers_;
  ApiServerOptions options_;
  std::unique_ptr<ApiServer> server_;
  std::string address_;
};

TEST_F(ApiHttpTest, TargetsComeInEveryForm) {
  Start();
  for (const char* path :
       {"/v1/models/news", "//v1/models/news", "/v1//models///news",
        "http://localhost/v1/models/news", "HTTP://localhost:7073//v1/models/news?a=b"}) {
    EXPECT_EQ(Send({.method = "GET", .path = path}).status, 200) << path;
  }
  EXPECT_EQ(Send({.path = "//personalizer/v1.0/rank",
                  .body = R"({"eventId":"e-1","actions":[{"id":"a"}]})"})
                .status,
            201);
  // The host of the target stands for the header's.
  EXPECT_EQ(Send({.method = "GET", .path = "http://evil.example/v1/models/news"}).status, 403);
  EXPECT_EQ(Send({.method = "GET", .path = "http://a@localhost/v1/models/news"}).status, 400);
}

TEST_F(ApiHttpTest, OtherMethodsAreToldWhichThereAre) {
  Start();
  const auto allowed = [&](const std::string& method, const std::string& path) {
    const HttpResult result = Send({.method = method, .path = path});
    EXPECT_EQ(result.status, 405) << path;
    return HeaderOf(result, "allow");
  };
  EXPECT_EQ(allowed("PUT", "/personalizer/v1.0/rank"), "POST");
  EXPECT_EQ(allowed("POST", "/personalizer/v1.0/configurations/service"), "GET");
  EXPECT_EQ(allowed("DELETE", "/v1/models/news"), "GET, HEAD");
  EXPECT_EQ(allowed("POST", "/openapi.json"), "GET, HEAD");
  EXPECT_EQ(allowed("GET", "/v1/models/news:select"), "POST");
}

TEST_F(ApiHttpTest, HeadsThatAreReadTwoWaysAreRefused) {
  Start();
  const std::string get = "GET /v1/models/news HTTP/1.1\r\nConnection: close\r\n";
  EXPECT_EQ(StatusOf(get + "Host: localhost\r\n\r\n"), 200);
  EXPECT_EQ(StatusOf(get + "\r\n"), 400);
  EXPECT_EQ(StatusOf(get + "Host: localhost\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf(get + "Host: localhost/@evil\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /v1/models/news HTTP/1.0\r\n\r\n"), 200);
  const std::string post =
      "POST /v1/models/news:select HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  const std::string chunk =
      absl::StrCat(absl::Hex(sizeof kSelectBody - 1), "\r\n", kSelectBody, "\r\n0\r\n");
  EXPECT_EQ(StatusOf(post + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "\r\n"), 200);
  EXPECT_EQ(StatusOf(post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk + "\r\n"), 501);
  EXPECT_EQ(
      StatusOf(post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunk + "\r\n"),
      400);
  EXPECT_EQ(StatusOf(post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456"), 400);
  EXPECT_EQ(StatusOf("POST /v1/models/news:select HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" +
                     chunk + "\r\n"),
            400);
}

// A proxy has looked at the head; what stands behind the body adds nothing to it.
TEST_F(ApiHttpTest, TrailersAreNoHeaders) {
  Principal app{.name = "app", .token_digest = Sha256Of("key")};
  app.roles = Role::kSelect | Role::kReport;
  AccessRules rules;
  rules.principals = {app};
  Gatekeeper gatekeeper(std::move(rules), SystemClock());
  options_.gatekeeper = &gatekeeper;
  Start();
  const std::string head =
      "POST /v1/models/news:select HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Transfer-Encoding: chunked\r\n";
  const std::string chunk =
      absl::StrCat(absl::Hex(sizeof kSelectBody - 1), "\r\n", kSelectBody, "\r\n0\r\n");
  const std::string token = "Authorization: Bearer key\r\n";
  EXPECT_EQ(StatusOf(head + token + "\r\n" + chunk + "\r\n"), 200);
  EXPECT_EQ(StatusOf(head + "\r\n" + chunk + token + "\r\n"), 401);
  EXPECT_EQ(StatusOf(head + token + "\r\n" + chunk + token + "\r\n"), 200);
  server_.reset();
}

// A private model takes what is no JSON for a reward that is missing, so what cannot be read is
// refused by its head.
TEST_F(ApiHttpTest, OtherContentIsRefusedByItsHead) {
  handlers_.model.set_mode(v1::CENTRAL_REWARD);
  Start();
  ASSERT_EQ(Send({.path = "/personalizer/v1.0/rank",
                  .body = R"({"eventId":"e-1","actions":[{"id":"a"}]})"})
                .status,
            201);
  for (const char* header :
       {"Content-Encoding: gzip", "Content-Encoding: GZIP, identity", "Content-Encoding: br",
        "Content-Type: application/json; charset=utf-16",
        "Content-Type: application/json;charset=\"latin1\"",
        "Content-Type: multipart/form-data; boundary=x", "Content-Type: application/zip"}) {
    for (const char* path : {kRewardPath, "/v1/models/news:report", "/v1/models/news:select"}) {
      const HttpResult result = Send({.path = path, .headers = {header}, .body = kReward});
      EXPECT_EQ(result.status, 415) << header << " " << path;
      EXPECT_EQ(HeaderOf(result, "accept-encoding"), "identity");
      const Json body = Json::parse(result.body);
      EXPECT_EQ(body.contains("error"), path == kRewardPath) << result.body;
    }
  }
  EXPECT_EQ(Send({.path = "/bandana.v1.Recommender/Report",
                  .headers = {"Content-Type: application/grpc-web+proto", "Content-Encoding: gzip"},
                  .body = "x"})
                .status,
            415);
  EXPECT_THAT(handlers_.reports(), IsEmpty());
  for (const char* header :
       {"Content-Encoding: identity", "Content-Type: application/json", "Content-Type: text/plain",
        "Content-Type: application/json; charset=\"UTF-8\"",
        "Content-Type: application/merge-patch+json",
        "Content-Type: application/x-www-form-urlencoded", "Expect: 100-continue"}) {
    EXPECT_THAT((std::vector<int>{204, 100}),
                ::testing::Contains(
                    Send({.path = kRewardPath, .headers = {header}, .body = kReward}).status))
        << header;
  }
  ASSERT_THAT(handlers_.reports(), SizeIs(7));
  for (const v1::ReportRequest& report : handlers_.reports()) {
    EXPECT_EQ(report.outcomes(0).reward(), 1);
  }
}

TEST_F(ApiHttpTest, MicrosoftsClientMayCallFromAPage) {
  options_.allowed_origins = {"https://shop.example"};
  Start();
  const HttpResult asked =
      Send({.method = "OPTIONS",
            .path = "/personalizer/v1.0/rank",
            .headers = {"Origin: https://shop.example", "Access-Control-Request-Method: POST",
                        "Access-Control-Request-Headers: content-type,ocp-apim-subscription-key,"
                        "x-ms-client-request-id,x-ms-command-name,x-ms-useragent"}});
  EXPECT_EQ(asked.status, 204);
  const std::string allowed = HeaderOf(asked, "access-control-allow-headers");
  for (const char* header : {"x-ms-client-request-id", "x-ms-command-name", "x-ms-useragent",
                             "ocp-apim-subscription-key"}) {
    EXPECT_THAT(allowed, HasSubstr(header));
  }
}

// A page under a name that was let point here asks as the listener's own.
TEST_F(ApiHttpTest, OnEveryAddressNamesOfOthersAreRefused) {
  options_.listen = "0.0.0.0:0";
  options_.allowed_origins = {"https://shop.example"};
  Start();
  const auto post = [&](const std::string& host, const std::string& origin) {
    return Send({.path = "/v1/models/news:select",
                 .headers = {"Origin: " + origin},
                 .body = kSelectBody,
                 .host = host})
        .status;
  };
  EXPECT_EQ(post("evil.example:7073", "http://evil.example:7073"), 403);
  EXPECT_EQ(Send({.method = "GET", .path = "/v1/models/news", .host = "evil.example:7073"}).status,
            403);
  EXPECT_EQ(post("10.0.0.5:7073", "http://10.0.0.5:7073"), 200);
  EXPECT_EQ(post("shop.example", "https://shop.example"), 200);
  for (const char* host : {"10.0.0.5:7073", "bandana:7073", "localhost", "shop.example:7073"}) {
    EXPECT_EQ(Send({.method = "GET", .path = "/v1/models/news", .host = host}).status, 200) << host;
  }
}

TEST_F(ApiHttpTest, ACallEndsWithItsTime) {
  std::mutex mutex;
  std::vector<std::function<void()>> held;
  handlers_.hold = [&](std::function<void()> finish) {
    const std::lock_guard lock(mutex);
    held.push_back(std::move(finish));
  };
  Start();
  v1::ReportRequest request;
  request.set_model("news");
  request.add_outcomes()->set_token("token");
  const std::string message = request.SerializeAsString();
  const std::string frame =
      std::string("\0\0\0\0", 4) + static_cast<char>(message.size()) + message;
  for (const char* timeout : {"50m", "0n"}) {
    const HttpResult late = Send({.path = "/bandana.v1.Recommender/Report",
                                  .headers = {"Content-Type: application/grpc-web+proto",
                                              absl::StrCat("grpc-timeout: ", timeout)},
                                  .body = frame});
    EXPECT_EQ(late.status, 200);
    EXPECT_EQ(HeaderOf(late, "grpc-status"), "4") << timeout;
  }
  const HttpResult json = Send({.path = "/v1/models/news:report",
                                .headers = {"grpc-timeout: 50m"},
                                .body = R"({"outcomes":[{"token":"dG9rZW4="}]})"});
  EXPECT_EQ(json.status, 504);
  EXPECT_EQ(Json::parse(json.body)["status"], "DEADLINE_EXCEEDED");
  // A later call finds nobody, not even the next call of that connection.
  const int fd = testing::ConnectTo(address_);
  const auto call = [&](const std::string& bytes) {
    EXPECT_GT(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    char buffer[4096];
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  };
  const std::string body = R"({"outcomes":[{"token":"dG9rZW4="}]})";
  EXPECT_THAT(call(absl::StrCat("POST /v1/models/news:report HTTP/1.1\r\nHost: localhost\r\n"
                                "grpc-timeout: 20m\r\nContent-Length: ",
                                body.size(), "\r\n\r\n", body)),
              StartsWith("HTTP/1.1 504"));
  {
    const std::lock_guard lock(mutex);
    ASSERT_THAT(held, SizeIs(3));
    for (const auto& finish : held) finish();
    held.clear();
  }
  EXPECT_THAT(call("GET /v1/models/news HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              HasSubstr("NON_PRIVATE"));
  ::close(fd);
}

// In mode JOINT whether there was a round is as private as what it was about.
TEST_F(ApiHttpTest, NoRoundOfAPrivateContextIsRefusedForItsValues) {
  handlers_.model.set_mode(v1::JOINT);
  Start();
  const auto select = [&](const std::string& value) {
    return Send({.path = "/v1/models/news:select",
                 .body = R"({"user":"ann","arms":{"inlineArms":{"features":[)" + value + "]}}}"})
        .status;
  };
  const auto rank = [&](const std::string& value) {
    return Send({.path = "/personalizer/v1.0/rank",
                 .body = R"({"actions":[{"id":"a"}],"contextFeatures":[{"x":)" + value + "}]}"})
        .status;
  };
  for (const char* odd : {"1", "NaN", "null", "\"x\"", "1e999", "[]"}) {
    EXPECT_EQ(select(odd), 200) << odd;
    EXPECT_EQ(rank(odd), 201) << odd;
  }
  std::string many = "1";
  for (int i = 0; i < 2000; ++i) many += ",1";
  EXPECT_EQ(rank("[" + many + "]"), 201);
  handlers_.model.set_mode(v1::LOCAL_CONTEXT);
  EXPECT_EQ(select("\"x\""), 200);
  handlers_.model.set_mode(v1::NON_PRIVATE);
  EXPECT_EQ(select("\"x\""), 400);
  EXPECT_EQ(rank("[" + many + "]"), 400);
}

TEST_F(ApiHttpTest, IdleConnectionsLastAsLongAsIsSet) {
  options_.connections.http_idle = absl::Milliseconds(300);
  Start();
  const int fd = testing::ConnectTo(address_);
  const absl::Time start = absl::Now();
  char byte = 0;
  EXPECT_EQ(::recv(fd, &byte, 1, 0), 0);
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(250));
  ::close(fd);
}

}  // namespace
}  // namespace bandana::server
