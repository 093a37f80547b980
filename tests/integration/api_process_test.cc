// bandana-server with an HTTP API: the same tokens, certificates and rules as for gRPC.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "nlohmann/json.hpp"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/signed_tokens.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace bandana::testing {
namespace {

using Json = nlohmann::json;

constexpr char kSelectBody[] = R"({"user":"ann","arms":{"inlineArms":{"features":[1,0,0,1]}}})";
constexpr char kModels[] =
    "models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE }\n"
    "models { name: 'shop' dimension: 2 shared {} mode: NON_PRIVATE }\n";

class ApiProcessTest : public ::testing::Test {
 protected:
  void Start(const std::string& config) {
    ASSERT_THAT(MakeFolders(folder_.File("server")), IsOk());
    auto server = ServerProcess::Start({.config = config,
                                        .folder = folder_.File("server"),
                                        .arguments = {"--api_listen=127.0.0.1:0"}});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    ASSERT_FALSE(server_->api_listen().empty());
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFileDurably(folder_.File(name), text, 0600), IsOk());
  }
  HttpResult Post(const std::string& path, const std::string& body, const std::string& token = "") {
    HttpSent sent{.path = path, .body = body};
    if (!token.empty()) sent.headers = {"Authorization: Bearer " + token};
    return testing::Send(server_->api_listen(), sent);
  }
  grpc::StatusCode SelectByGrpc(const std::string& token, const std::string& model = "news") {
    const auto channel = grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials());
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("ann");
    for (const double x : {1.0, 0.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    v1::SelectResponse response;
    return v1::Recommender::NewStub(channel)->Select(&context, request, &response).error_code();
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ApiProcessTest, ADecisionIsMadeAndReported) {
  Start(kModels);
  const HttpResult selected = Post("/v1/models/news:select", kSelectBody);
  ASSERT_EQ(selected.status, 200) << selected.body;
  const std::string token = Json::parse(selected.body)["token"];
  const auto report = [&] {
    return Post("/v1/models/news:report",
                absl::StrCat(R"({"outcomes":[{"token":")", token, R"(","reward":1}]})"));
  };
  EXPECT_EQ(Json::parse(report().body)["results"][0]["code"], "APPLIED");
  EXPECT_EQ(Json::parse(report().body)["results"][0]["code"], "DUPLICATE");
  EXPECT_EQ(Post("/v1/models/gone:select", kSelectBody).status, 404);
  EXPECT_THAT(Post("/v1/models/news:select", R"({"user":"ann","topK":199})").body,
              HasSubstr("top_k: must be in [0, 100], got 199"));
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("bandana_calls_total{method=\"Report\",code=\"OK\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("bandana_connections_accepted_total{listener=\"api_listen\"} "));
  EXPECT_EQ(server_->Terminate(), 0);
}

// Everything that metrics show and that is not sampled by the clock.
std::vector<std::string> Shown(const std::string& metrics) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(metrics, '\n')) {
    const bool sampled = absl::StartsWith(line, "#") || absl::StartsWith(line, "process_") ||
                         absl::StrContains(line, "apply_lag") ||
                         absl::StrContains(line, "log_queue") || absl::StrContains(line, "_age_") ||
                         absl::StrContains(line, "listener=\"http_listen\"");  // the look's own
    if (!sampled) lines.emplace_back(line);
  }
  return lines;
}

constexpr char kDecided[] = "bandana_model_decisions_open{model=\"news\"} 1";

// When a report comes is as private as what it says: neither its answer, nor metrics, nor lines
// tell whether one is held.
TEST_F(ApiProcessTest, ReportsOfPrivateWindowsLeaveNoTrace) {
  Start(
      "models { name: 'news' dimension: 2 shared {} mode: CENTRAL_REWARD"
      " privacy { epsilon: 2 delta: 1e-6 }"
      " reporting { reward_window { duration { seconds: 600 } } } }");
  const HttpResult selected = Post("/v1/models/news:select", kSelectBody);
  ASSERT_EQ(selected.status, 200) << selected.body;
  const std::string token = Json::parse(selected.body)["token"];
  const auto report = [&](const std::string& reward) {
    return Post("/v1/models/news:report",
                absl::StrCat(R"({"outcomes":[{"token":")", token, R"(","reward":)", reward, "}]}"));
  };
  const auto shown = [&] { return Shown(HttpRequest(server_->http_listen(), "/metrics").body); };
  // The decision itself is public, and is written a little later than it is answered.
  std::vector<std::string> before = shown();
  for (int i = 0; i < 200 && std::ranges::count(before, kDecided) == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    before = shown();
  }
  ASSERT_THAT(before, ::testing::Contains(kDecided));
  absl::SleepFor(absl::Milliseconds(200));
  before = shown();
  const std::string lines = server_->process().err();
  const HttpResult first = report("1");
  EXPECT_EQ(first.status, 200) << first.body;
  for (const char* next : {"0", "null", "NaN", "\"x\""}) {
    const HttpResult again = report(next);
    EXPECT_EQ(again.status, 200) << next;
    EXPECT_EQ(again.body, first.body) << next;
  }
  EXPECT_EQ(Post("/v1/models/news:report", "{").status, 400);
  for (const std::string& line : shown()) {
    EXPECT_TRUE(std::ranges::count(before, line) > 0) << line;
  }
  EXPECT_EQ(server_->process().err(), lines);
  EXPECT_EQ(server_->Terminate(), 0);
}

TEST_F(ApiProcessTest, SignedTokensCountOnBothListeners) {
  const SigningKey key(SigningKey::Kind::kEc, "k1");
  Write("keys.json", "{\"keys\":[" + key.Jwk() + "]}");
  Start(absl::StrCat(kModels,
                     "access { jwt_issuers { issuer: 'https://id.example' audience: 'bandana'"
                     " keys_file: '../keys.json' roles: ROLE_SELECT models: 'news' } }"));
  const std::string token =
      key.Token(UsualClaims("https://id.example", "bandana", "ann-the-person", absl::Now()));
  EXPECT_EQ(Post("/v1/models/news:select", kSelectBody, token).status, 200);
  EXPECT_EQ(SelectByGrpc(token), grpc::StatusCode::OK);
  EXPECT_EQ(Post("/v1/models/shop:select", kSelectBody, token).status, 403);
  EXPECT_EQ(SelectByGrpc(token, "shop"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Post("/v1/models/news:report", "{}", token).status, 403);
  EXPECT_EQ(Post("/v1/models/news:select", kSelectBody).status, 401);
  const std::string old =
      key.Token(UsualClaims("https://id.example", "bandana", "ann", absl::Now() - absl::Hours(2)));
  EXPECT_EQ(Post("/v1/models/news:select", kSelectBody, old).status, 401);
  EXPECT_EQ(SelectByGrpc(old), grpc::StatusCode::UNAUTHENTICATED);

  // A file that is broken is said to be, and changes nothing.
  Write("keys.json", "{");
  const auto log_says = [&](const std::string& text) {
    for (int i = 0; i < 200 && !absl::StrContains(server_->process().err(), text); ++i) {
      absl::SleepFor(absl::Milliseconds(50));
    }
    return absl::StrContains(server_->process().err(), text);
  };
  EXPECT_TRUE(log_says("the keys before stay in use"));
  EXPECT_EQ(SelectByGrpc(token), grpc::StatusCode::OK);
  const SigningKey next(SigningKey::Kind::kEd, "k2");
  Write("keys.json", "{\"keys\":[" + next.Jwk() + "]}");
  EXPECT_TRUE(log_says("access: took the keys of"));
  EXPECT_EQ(SelectByGrpc(token), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Post("/v1/models/news:select", kSelectBody,
                 next.Token(UsualClaims("https://id.example", "bandana", "ann", absl::Now())))
                .status,
            200);
  EXPECT_THAT(server_->process().err(), Not(HasSubstr("ann-the-person")));
  EXPECT_EQ(server_->Terminate(), 0);
}

// One request over TLS; `pair` names a client certificate, "" none. Status 0: the handshake failed.
HttpResult SendByTls(const std::string& address, const TempDir& folder, const std::string& pair,
                     const HttpSent& sent) {
  HttpResult result;
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_load_verify_locations(context, folder.File("ca.pem").c_str(), nullptr);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (!pair.empty()) {
    SSL_CTX_use_certificate_chain_file(context, folder.File(pair + ".pem").c_str());
    SSL_CTX_use_PrivateKey_file(context, folder.File(pair + ".key").c_str(), SSL_FILETYPE_PEM);
  }
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port =
      htons(static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SSL* const tls = SSL_new(context);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) == 0 &&
      SSL_set_fd(tls, fd) == 1 && SSL_connect(tls) == 1) {
    std::string text = sent.method + " " + sent.path + " HTTP/1.1\r\nHost: server.internal\r\n";
    for (const std::string& header : sent.headers) text += header + "\r\n";
    text += absl::StrCat("Content-Length: ", sent.body.size(), "\r\nConnection: close\r\n\r\n",
                         sent.body);
    SSL_write(tls, text.data(), static_cast<int>(text.size()));
    std::string answer;
    char buffer[4096];
    for (int n; (n = SSL_read(tls, buffer, sizeof buffer)) > 0;) answer.append(buffer, n);
    const std::size_t end = answer.find("\r\n\r\n");
    if (answer.starts_with("HTTP/1.1 ") && end != std::string::npos) {
      result.status = std::atoi(answer.c_str() + 9);
      result.head = answer.substr(0, end);
      result.body = answer.substr(end + 4);
    }
  }
  SSL_free(tls);
  SSL_CTX_free(context);
  ::close(fd);
  return result;
}

TEST_F(ApiProcessTest, TlsAndCertificatesAreThoseOfGrpc) {
  const TestAuthority authority("authority");
  Write("ca.pem", authority.certificate());
  WritePair(folder_.path(), "server", authority.Issue({.common_name = "server"}));
  WritePair(folder_.path(), "ranker",
            authority.Issue({.common_name = "pod", .dns_names = {"ranker.internal"}}));
  WritePair(folder_.path(), "stranger", authority.Issue({.common_name = "stranger"}));
  const TestAuthority forger("authority");
  WritePair(folder_.path(), "forged",
            forger.Issue({.common_name = "pod", .dns_names = {"ranker.internal"}}));
  Start(absl::StrCat(kModels,
                     "tls { certificate_file: '../server.pem' private_key_file: '../server.key'"
                     " client_ca_file: '../ca.pem' reload_interval { seconds: 1 } }\n"
                     "access { principals { name: 'ranker' certificate_subject: 'ranker.internal'"
                     " roles: ROLE_SELECT } principals { name: 'app' token_sha256: '",
                     ToHex(Sha256Of("app-token")), "' roles: ROLE_SELECT } }"));
  const HttpSent select{.path = "/v1/models/news:select", .body = kSelectBody};
  HttpSent with_token = select;
  with_token.headers = {"Authorization: Bearer app-token"};
  const auto send = [&](const std::string& pair, const HttpSent& sent) {
    return SendByTls(server_->api_listen(), folder_, pair, sent).status;
  };
  EXPECT_EQ(send("", with_token), 200);
  EXPECT_EQ(send("ranker", select), 200);
  EXPECT_EQ(send("", select), 401);
  EXPECT_EQ(send("stranger", select), 401);
  EXPECT_EQ(send("forged", select), 0);
  EXPECT_EQ(testing::Send(server_->api_listen(), with_token).status, 0);  // plaintext

  // The next handshake has the changed certificate.
  const TestAuthority next("next");
  WritePair(folder_.path(), "server", next.Issue({.common_name = "server"}));
  int status = 200;
  for (int i = 0; i < 100 && status != 0; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    status = send("", with_token);
  }
  EXPECT_EQ(status, 0);
  Write("ca.pem", next.certificate());
  EXPECT_EQ(send("", with_token), 200);
  EXPECT_EQ(server_->Terminate(), 0);
}

}  // namespace
}  // namespace bandana::testing
