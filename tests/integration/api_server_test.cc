// The HTTP API over handlers of a test: paths, access, limits, what is counted and what not.
#include "server/api/api_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/sha256.h"
#include "nlohmann/json.hpp"
#include "server/api/grpc_web.h"
#include "tests/integration/api_handlers.h"
#include "tests/support/fake_clock.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using Json = nlohmann::json;

constexpr char kSelectBody[] = R"({"user":"ann","arms":{"inlineArms":{"features":[1,0,0,1]}}})";
constexpr char kReportBody[] = R"({"outcomes":[{"token":"dG9rZW4=","reward":1}]})";

class Counts final : public CallObserver, public CallLog {
 public:
  void OnStart(const Rpc&, absl::Duration) override { ++starts; }
  void OnCall(const Rpc& rpc, int code, absl::Duration) override {
    const std::lock_guard lock(mutex_);
    ++calls_[absl::StrCat(std::string(rpc.method()), " ", code)];
  }
  void Write(const CallRecord& record) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(record);
  }
  std::map<std::string, int> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  std::vector<CallRecord> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::atomic<int> starts{0};

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> calls_;
  std::vector<CallRecord> lines_;
};

class ApiServerTest : public ::testing::Test {
 protected:
  ApiServerTest() {
    handlers_.model.set_dimension(2);
    handlers_.model.set_feature_l2_max(1);
    handlers_.model.set_mode(v1::NON_PRIVATE);
    options_.listen = "127.0.0.1:0";
    options_.observer = &counts_;
    options_.log = &counts_;
  }
  void Start() {
    auto server = ApiServer::Start(options_, handlers_);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  void StartWithAccess() {
    Principal app{.name = "app", .token_digest = Sha256Of("app-token")};
    app.roles = Role::kSelect;
    app.models = {"news"};
    Principal slow{.name = "slow", .token_digest = Sha256Of("slow-token")};
    slow.roles = Role::kSelect | Role::kReport;
    slow.calls_per_second = 0.1;
    AccessRules rules;
    rules.principals = {app, slow};
    gatekeeper_ = std::make_unique<Gatekeeper>(std::move(rules), SystemClock());
    options_.gatekeeper = gatekeeper_.get();
    Start();
  }
  HttpResult Send(const HttpSent& sent) const { return testing::Send(server_->address(), sent); }
  HttpResult Post(const std::string& path, const std::string& body,
                  const std::vector<std::string>& headers = {}) const {
    return Send({.path = path, .headers = headers, .body = body});
  }
  // The message of an error's answer, whose forms agree.
  static std::string Said(const HttpResult& result, int status, const std::string& name) {
    EXPECT_EQ(result.status, status) << result.body;
    const Json body = Json::parse(result.body, nullptr, false);
    EXPECT_EQ(body.value("status", ""), name) << result.body;
    EXPECT_EQ(HeaderOf(result, "content-type"), "application/json");
    return body.value("message", "");
  }

  ApiHandlers handlers_;
  Counts counts_;
  ApiServerOptions options_;
  std::unique_ptr<Gatekeeper> gatekeeper_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(ApiServerTest, RunsTheHandlersByPath) {
  Start();
  const HttpResult selected = Post("/v1/models/news:select", kSelectBody);
  ASSERT_EQ(selected.status, 200) << selected.body;
  const Json selection = Json::parse(selected.body);
  EXPECT_EQ(selection["positions"], Json::array({0}));
  EXPECT_EQ(selection["token"], "dG9rZW4=");
  EXPECT_EQ(selection["posteriorVersion"], "7");
  ASSERT_EQ(handlers_.selects().size(), 1);
  EXPECT_EQ(handlers_.selects()[0].model(), "news");
  EXPECT_EQ(handlers_.selects()[0].user(), "ann");

  EXPECT_EQ(Json::parse(Post("/v1/models/news:report", kReportBody).body),
            Json::parse(R"({"results":[{"code":"APPLIED"}]})"));
  EXPECT_EQ(handlers_.reports()[0].outcomes(0).token(), "token");
  const HttpResult model = Send({.method = "GET", .path = "/v1/models/news"});
  EXPECT_EQ(Json::parse(model.body)["mode"], "NON_PRIVATE");
  EXPECT_EQ(Json::parse(model.body)["model"], "news");
  const HttpResult batch =
      Post("/v1/models/news:batchSelect", absl::StrCat(R"({"decisions":[)", kSelectBody, "]}"));
  EXPECT_EQ(Json::parse(batch.body)["results"].size(), 1);
  EXPECT_EQ(handlers_.selects()[1].model(), "news");
  EXPECT_EQ(Post("/v1/models/news:posterior", "").status, 200);
  EXPECT_EQ(Post("/v1/models/news:armEffects", "{}").status, 200);
  EXPECT_EQ(Post("/v1/models/news:submit", "{}").status, 200);
  EXPECT_EQ(Json::parse(Send({.method = "GET", .path = "/openapi.json"}).body)["openapi"], "3.0.3");
  EXPECT_EQ(counts_.calls()["Select 0"], 1);
  EXPECT_EQ(counts_.calls()["GetModel 0"], 1);
  EXPECT_EQ(counts_.starts, 7);
  EXPECT_THAT(counts_.lines(), IsEmpty());
}

TEST_F(ApiServerTest, SaysWhatIsWrong) {
  Start();
  EXPECT_THAT(Said(Post("/v1/models/news:select", "{"), 400, "INVALID_ARGUMENT"),
              HasSubstr("not JSON: a mistake at byte 2"));
  EXPECT_THAT(Said(Post("/v1/models/news:select", R"({"usr":"secret"})"), 400, "INVALID_ARGUMENT"),
              "usr: there is no such field");
  EXPECT_THAT(Said(Post("/v1/models/news:select", R"({"model":"shop"})"), 400, "INVALID_ARGUMENT"),
              "model: must be empty or the one of the path");
  EXPECT_THAT(Said(Post("/v1/models/news:batchSelect", R"({"decisions":[{},{"model":"shop"}]})"),
                   400, "INVALID_ARGUMENT"),
              "decisions[1].model: must be empty or the one of the path");
  Said(Post("/v1/models/news:forget", "{}"), 404, "NOT_FOUND");
  Said(Post("/", "{}"), 404, "NOT_FOUND");
  const HttpResult wrong = Send({.method = "GET", .path = "/v1/models/news:select"});
  Said(wrong, 405, "UNIMPLEMENTED");
  EXPECT_EQ(HeaderOf(wrong, "allow"), "POST");
  handlers_.on_select = [](const v1::SelectRequest&) {
    return absl::NotFoundError("model: no such model");
  };
  const HttpResult missing = Post("/v1/models/news:select", "{}");
  EXPECT_THAT(Said(missing, 404, "NOT_FOUND"), "model: no such model");
  const std::vector<CallRecord> lines = counts_.lines();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back().method, "Select");
  EXPECT_EQ(lines.back().caller, "anonymous");
  EXPECT_EQ(HeaderOf(missing, "request-id"), lines.back().request_id);
  EXPECT_EQ(lines.size(), 5);  // paths that are none have no line
}

TEST_F(ApiServerTest, AccessRulesHold) {
  StartWithAccess();
  const auto select = [&](const std::string& model, const std::string& token) {
    return Post("/v1/models/" + model + ":select", kSelectBody,
                token.empty() ? std::vector<std::string>()
                              : std::vector<std::string>{"Authorization: Bearer " + token});
  };
  EXPECT_EQ(select("news", "app-token").status, 200);
  const HttpResult unknown = select("news", "no-token");
  Said(unknown, 401, "UNAUTHENTICATED");
  EXPECT_EQ(HeaderOf(unknown, "www-authenticate"), "Bearer");
  Said(select("news", ""), 401, "UNAUTHENTICATED");
  Said(select("shop", "app-token"), 403, "PERMISSION_DENIED");
  Said(Post("/v1/models/news:report", kReportBody, {"Authorization: Bearer app-token"}), 403,
       "PERMISSION_DENIED");
  Said(Post("/v1/models/news:select", kSelectBody,
            {"Authorization: Bearer app-token", "Authorization: Bearer slow-token"}),
       401, "UNAUTHENTICATED");
  EXPECT_EQ(select("shop", "slow-token").status, 200);
  const HttpResult later = select("shop", "slow-token");
  Said(later, 429, "RESOURCE_EXHAUSTED");
  EXPECT_GT(std::atoi(HeaderOf(later, "retry-after").c_str()), 5);
  EXPECT_GT(std::atoi(HeaderOf(later, "grpc-retry-pushback-ms").c_str()), 5000);
  EXPECT_EQ(counts_.calls()["Select 16"], 3);  // UNAUTHENTICATED, as gRPC's
  EXPECT_EQ(counts_.calls()["Select 7"], 1);
  EXPECT_EQ(counts_.calls()["Select 8"], 1);
  EXPECT_THAT(counts_.lines(), IsEmpty());  // refused as they should be
  // Whoever guesses tokens loses connections.
  EXPECT_EQ(Send({.method = "GET", .path = "/openapi.json"}).status, 200);
}

TEST_F(ApiServerTest, LocalModelsTakeNoRawRewards) {
  handlers_.model.set_mode(v1::LOCAL_REWARD);
  Start();
  EXPECT_THAT(Said(Post("/v1/models/news:report", kReportBody), 400, "FAILED_PRECONDITION"),
              HasSubstr("use the SDK"));
  EXPECT_THAT(handlers_.reports(), IsEmpty());
}

TEST_F(ApiServerTest, NoRewardOfAPrivateModelIsRefusedForItsValue) {
  handlers_.model.set_mode(v1::CENTRAL_REWARD);
  Start();
  const auto report = [&](const std::string& reward) {
    return Post("/v1/models/news:report",
                R"({"outcomes":[{"token":"dG9rZW4=","reward":)" + reward + "}]}");
  };
  const std::string answer = report("1").body;
  for (const char* odd : {"null", "NaN", "\"NaN\"", "\"much\"", "{}", "[1]", "true"}) {
    const HttpResult result = report(odd);
    EXPECT_EQ(result.status, 200) << odd;
    EXPECT_EQ(result.body, answer) << odd;
    EXPECT_FALSE(handlers_.reports().back().outcomes(0).has_reward()) << odd;
  }
  handlers_.model.set_mode(v1::NON_PRIVATE);
  Said(report("\"much\""), 400, "INVALID_ARGUMENT");
}

// `Zm9ybWVy` is `former`.
TEST_F(ApiServerTest, ReportsForAnotherPolicyLeaveNeitherCountNorLine) {
  Start();
  const std::string body = R"({"policyHash":"Zm9ybWVy","outcomes":[{"token":"dG9rZW4="}]})";
  EXPECT_EQ(Post("/v1/models/news:report", body).status, 200);
  EXPECT_THAT(counts_.calls(), IsEmpty());
  EXPECT_EQ(counts_.starts, 0);
  EXPECT_EQ(Post("/v1/models/news:report", kReportBody).status, 200);
  EXPECT_EQ(counts_.calls()["Report 0"], 1);
  EXPECT_EQ(counts_.starts, 1);
  EXPECT_EQ(server_->calls_shown(), 0);
}

TEST_F(ApiServerTest, UnrecordedReportsLeaveNeitherCountNorLine) {
  handlers_.model.set_mode(v1::CENTRAL_REWARD);
  handlers_.keeps_unrecorded = true;
  options_.body_bytes_max = 4096;
  Start();
  EXPECT_EQ(Post("/v1/models/unrecorded:report", kReportBody).status, 200);
  EXPECT_EQ(Post("/v1/models/unrecorded:report", "{").status, 400);
  EXPECT_EQ(Post("/v1/models/unrecorded:report", std::string(5000, ' ')).status, 413);
  const auto web = [&](const std::string& model) {
    v1::ReportRequest request;
    request.set_model(model);
    request.add_outcomes()->set_token("token");
    const std::string message = request.SerializeAsString();
    return Post("/bandana.v1.Recommender/Report",
                std::string("\0\0\0\0", 4) + static_cast<char>(message.size()) + message,
                {"Content-Type: application/grpc-web+proto"});
  };
  EXPECT_EQ(web("unrecorded").status, 200);
  EXPECT_THAT(counts_.calls(), IsEmpty());
  EXPECT_THAT(counts_.lines(), IsEmpty());
  EXPECT_EQ(counts_.starts, 0);
  EXPECT_EQ(server_->calls_shown(), 0);
  EXPECT_FALSE(server_->connections().has_value());
  EXPECT_EQ(Post("/v1/models/news:report", kReportBody).status, 200);
  EXPECT_EQ(web("news").status, 200);
  EXPECT_EQ(counts_.calls()["Report 0"], 2);
  EXPECT_EQ(counts_.starts, 2);
}

TEST_F(ApiServerTest, LargeBodiesAreRefusedUnread) {
  options_.body_bytes_max = 4096;
  Start();
  const HttpResult large = Post("/v1/models/news:select", std::string(10 << 20, ' '));
  EXPECT_THAT(Said(large, 413, "RESOURCE_EXHAUSTED"), HasSubstr("api.body_bytes_max"));
  EXPECT_EQ(counts_.calls()["Select 8"], 1);
  Said(Send({.method = "GET",
             .path = "/v1/models/news",
             .headers = {"X-Long: " + std::string(20'000, 'x')}}),
       431, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(Post("/v1/models/news:select", kSelectBody).status, 200);
}

// A client that sends slowly, or nothing, waits for itself alone.
TEST_F(ApiServerTest, SlowClientsHoldNoThread) {
  options_.threads = 1;
  Start();
  std::vector<int> idle;
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  const std::string& address = server_->address();
  peer.sin_port =
      htons(static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 64; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&peer), sizeof peer), 0);
    const std::string part = i % 2 == 0 ? "POST /v1/mod"
                                        : "POST /v1/models/news:select HTTP/1.1\r\nHost: x\r\n"
                                          "Content-Length: 100\r\n\r\n{";
    ASSERT_GT(::send(fd, part.data(), part.size(), MSG_NOSIGNAL), 0);
    idle.push_back(fd);
  }
  const absl::Time start = absl::Now();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Post("/v1/models/news:select", kSelectBody).status, 200);
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  for (const int fd : idle) ::close(fd);
}

TEST_F(ApiServerTest, TooManyCallsInFlightAreRefused) {
  options_.calls_in_flight_max = 4;  // reports: three
  std::mutex mutex;
  std::vector<std::function<void()>> held;
  handlers_.hold = [&](std::function<void()> finish) {
    const std::lock_guard lock(mutex);
    held.push_back(std::move(finish));
  };
  const auto held_now = [&] {
    const std::lock_guard lock(mutex);
    return held;
  };
  Start();
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back(
        [&] { EXPECT_EQ(Post("/v1/models/news:report", kReportBody).status, 200); });
  }
  while (held_now().size() < 3) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(server_->calls_shown(), 3);
  const HttpResult fourth = Post("/v1/models/news:report", kReportBody);
  Said(fourth, 429, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(HeaderOf(fourth, "grpc-retry-pushback-ms"), "50");
  EXPECT_EQ(Post("/v1/models/news:select", kSelectBody).status, 200);
  for (const auto& finish : held_now()) finish();
  for (std::thread& thread : waiting) thread.join();
}

// A Finish that comes when the server is gone finds nothing, and what it wrote to is still there.
TEST_F(ApiServerTest, ShutdownEndsWhatIsInFlight) {
  std::atomic<int> held{0};
  std::function<void()> late;
  handlers_.hold = [&](std::function<void()> finish) {
    late = std::move(finish);
    ++held;
  };
  Start();
  std::thread waiting([&] {
    const HttpResult result = Post("/v1/models/news:report", kReportBody);
    Said(result, 503, "UNAVAILABLE");
  });
  while (held.load() == 0) absl::SleepFor(absl::Milliseconds(1));
  server_->Shutdown(absl::Milliseconds(20));
  waiting.join();
  server_.reset();
  late();
  late = nullptr;
}

TEST_F(ApiServerTest, PagesOfNamedOriginsMayCall) {
  options_.allowed_origins = {"https://shop.example"};
  Start();
  const HttpResult asked =
      Send({.method = "OPTIONS",
            .path = "/v1/models/news:select",
            .headers = {"Origin: https://shop.example", "Access-Control-Request-Method: POST",
                        "Access-Control-Request-Headers: authorization,content-type"}});
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(HeaderOf(asked, "access-control-allow-origin"), "https://shop.example");
  EXPECT_THAT(HeaderOf(asked, "access-control-allow-methods"), HasSubstr("POST"));
  EXPECT_THAT(HeaderOf(asked, "access-control-allow-headers"), HasSubstr("authorization"));
  const HttpResult called =
      Post("/v1/models/news:select", kSelectBody, {"Origin: https://shop.example"});
  EXPECT_EQ(called.status, 200);
  EXPECT_EQ(HeaderOf(called, "access-control-allow-origin"), "https://shop.example");
  EXPECT_THAT(HeaderOf(called, "access-control-expose-headers"), HasSubstr("grpc-status"));
  EXPECT_EQ(HeaderOf(called, "vary"), "origin");
  const std::size_t before = handlers_.selects().size();
  const HttpResult other =
      Post("/v1/models/news:select", kSelectBody, {"Origin: https://evil.example"});
  Said(other, 403, "PERMISSION_DENIED");
  EXPECT_EQ(HeaderOf(other, "access-control-allow-origin"), "");
  EXPECT_EQ(handlers_.selects().size(), before);  // refused, not only hidden
  EXPECT_EQ(
      Send({.method = "OPTIONS",
            .path = "/v1/models/news:select",
            .headers = {"Origin: https://evil.example", "Access-Control-Request-Method: POST"}})
          .status,
      403);
}

TEST_F(ApiServerTest, OnLoopbackOtherHostNamesAreRefused) {
  options_.allowed_origins = {"https://shop.example"};
  Start();
  for (const char* path : {"/v1/models/news", "/openapi.json", "/nowhere"}) {
    Said(Send({.method = "GET", .path = path, .host = "evil.example:7073"}), 403,
         "PERMISSION_DENIED");
  }
  const std::size_t before = handlers_.selects().size();
  Said(Send({.path = "/v1/models/news:select", .body = kSelectBody, .host = "evil.example"}), 403,
       "PERMISSION_DENIED");
  EXPECT_EQ(handlers_.selects().size(), before);
  for (const char* host : {"localhost", "shop.example"}) {
    EXPECT_EQ(Send({.method = "GET", .path = "/v1/models/news", .host = host}).status, 200);
  }
}

TEST_F(ApiServerTest, GrpcWebAnswersWithTrailers) {
  Start();
  v1::SelectRequest request;
  request.set_model("news");
  request.set_user("ann");
  for (const double x : {1.0, 0.0}) request.mutable_arms()->mutable_inline_arms()->add_features(x);
  const std::string message = request.SerializeAsString();
  const std::string frame =
      std::string("\0\0\0\0", 4) + static_cast<char>(message.size()) + message;
  const HttpResult result = Post("/bandana.v1.Recommender/Select", frame,
                                 {"Content-Type: application/grpc-web+proto", "X-Grpc-Web: 1"});
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(HeaderOf(result, "content-type"), "application/grpc-web+proto");
  const std::size_t size = static_cast<unsigned char>(result.body[4]);
  v1::SelectResponse response;
  ASSERT_TRUE(response.ParseFromString(result.body.substr(5, size)));
  EXPECT_EQ(response.posterior_version(), 7);
  EXPECT_EQ(result.body.substr(5 + size), std::string("\x80\0\0\0\x10", 5) + "grpc-status: 0\r\n");

  handlers_.on_select = [](const v1::SelectRequest&) {
    return absl::InvalidArgumentError("user: 100 % wrong");
  };
  const HttpResult failed =
      Post("/bandana.v1.Recommender/Select", frame, {"Content-Type: application/grpc-web"});
  EXPECT_EQ(failed.status, 200);
  EXPECT_EQ(HeaderOf(failed, "grpc-status"), "3");
  EXPECT_EQ(HeaderOf(failed, "grpc-message"), "user: 100 %25 wrong");
  EXPECT_FALSE(HeaderOf(failed, "request-id").empty());
  EXPECT_EQ(failed.body, "");
  EXPECT_EQ(
      HeaderOf(Post("/bandana.v1.Admin/ListModels", frame, {"Content-Type: application/grpc-web"}),
               "grpc-status"),
      "12");
  EXPECT_EQ(HeaderOf(Post("/bandana.v1.Recommender/Select", "junk",
                          {"Content-Type: application/grpc-web-text"}),
                     "grpc-status"),
            "3");
}

TEST_F(ApiServerTest, NoHttpIsAnsweredAsSuch) {
  Start();
  const HttpResult result = Send({.method = "P\x01ST", .path = "/"});
  EXPECT_EQ(result.status, 400);
  EXPECT_EQ(Send({.method = "GET", .path = "/openapi.json"}).status, 200);
}

}  // namespace
}  // namespace bandana::server
