// bandana-server over TLS: who gets in, who does not, and what nobody may read afterwards.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "bandana/v1/admin.pb.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/channel/channel.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpc/health/v1/health.pb.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"
#include "tests/support/tls_caller.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kAppToken[] = "app-token-5f3c9f0de1b24c7a";
constexpr char kSlowToken[] = "slow-token-0a1b2c3d4e5f6071";
constexpr char kModels[] =
    "models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE }\n"
    "models { name: 'shop' dimension: 2 shared {} mode: NON_PRIVATE }\n";

grpc::StatusCode CodeOf(const grpc::Status& status) { return status.error_code(); }

std::string Digest(const std::string& token) { return ToHex(Sha256Of(token)); }

class SecurityTest : public ::testing::Test {
 protected:
  SecurityTest() {
    Write("ca.pem", authority_.certificate());
    WriteServerPair(authority_);
    WritePair(folder_.path(), "ops", authority_.Issue({.common_name = "ops.internal"}));
    WritePair(folder_.path(), "ranker",
              authority_.Issue({.common_name = "some pod", .dns_names = {"x", "ranker.internal"}}));
    WritePair(folder_.path(), "stranger", authority_.Issue({.common_name = "stranger.internal"}));
    Write("app.token", kAppToken);
    Write("slow.token", kSlowToken);
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFileDurably(folder_.File(name), text, 0600), IsOk());
  }
  void WriteServerPair(const TestAuthority& authority) {
    WritePair(folder_.path(), "server",
              authority.Issue({.common_name = "server", .dns_names = {"server.internal"}}));
  }

  std::string Tls(const std::string& more = "") const {
    return "tls { certificate_file: '../server.pem' private_key_file: '../server.key'"
           " client_ca_file: '../ca.pem' reload_interval { seconds: 1 } " +
           more + " }\n";
  }
  static std::string Access() {
    return absl::StrCat(
        "access {\n principals { name: 'app' token_sha256: '", Digest(kAppToken),
        "' roles: ROLE_SELECT models: 'news' }\n principals { name: 'slow' token_sha256: '",
        Digest(kSlowToken), "' roles: ROLE_SELECT calls_per_second: 0.1 burst: 2 }\n",
        " principals { name: 'ops' certificate_subject: 'ops.internal' roles: ROLE_ADMIN }\n"
        " principals { name: 'ranker' certificate_subject: 'ranker.internal'"
        " roles: ROLE_SELECT roles: ROLE_REPORT }\n}\n");
  }
  void Start(const std::string& config) {
    ASSERT_THAT(MakeFolders(folder_.File("server")), IsOk());
    auto server = ServerProcess::Start({.config = config, .folder = folder_.File("server")});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  ChannelSecurity Security(const std::string& pair = "", const std::string& token = "") const {
    ChannelSecurity security{.ca_file = folder_.File("ca.pem"), .server_name = "server.internal"};
    if (!pair.empty()) {
      security.certificate_file = folder_.File(pair + ".pem");
      security.private_key_file = folder_.File(pair + ".key");
    }
    if (!token.empty()) security.token_file = folder_.File(token);
    return security;
  }

  // A fresh connection: gRPC would otherwise share one between equal channels.
  static absl::StatusOr<Connection> Connect(const std::string& target,
                                            const ChannelSecurity& security) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return Connection::Open(target, security, arguments);
  }

  grpc::Status Select(const ChannelSecurity& security, const std::string& model = "news") {
    const auto connection = *Connect(server_->listen(), security);
    grpc::ClientContext context;
    return Select(connection, model, context);
  }
  static grpc::Status Select(const Connection& connection, const std::string& model,
                             grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    connection.Authorize(context);
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    v1::SelectResponse response;
    return v1::Recommender::NewStub(connection.channel())->Select(&context, request, &response);
  }

  // A call with features of a wrong shape; its request id.
  std::string FailedCall() {
    const auto connection = *Connect(server_->listen(), Security("ranker"));
    grpc::ClientContext context;
    v1::SelectRequest request;
    request.set_model("news");
    request.set_user("user-whom-no-line-names");
    for (int i = 0; i < 3; ++i)
      request.mutable_arms()->mutable_inline_arms()->add_features(0.123456789);
    v1::SelectResponse response;
    const auto stub = v1::Recommender::NewStub(connection.channel());
    EXPECT_EQ(CodeOf(stub->Select(&context, request, &response)),
              grpc::StatusCode::INVALID_ARGUMENT);
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto found = trailers.find("request-id");
    return found == trailers.end() ? "" : std::string(found->second.data(), found->second.size());
  }

  absl::Status ListModels(const ChannelSecurity& security, const std::string& target) {
    return (*AdminClient::Connect(target, absl::Seconds(60), security))->ListModels().status();
  }

  const TempDir folder_;
  const TestAuthority authority_{"authority"};
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(SecurityTest, TokensAndCertificatesGetWhatTheirRolesSay) {
  Start(Tls() + Access() + kModels);
  EXPECT_EQ(CodeOf(Select(Security("", "app.token"))), grpc::StatusCode::OK);
  EXPECT_EQ(CodeOf(Select(Security("ranker"))), grpc::StatusCode::OK);  // by its DNS name
  EXPECT_THAT(ListModels(Security("ops"), server_->listen()), IsOk());  // by its common name

  EXPECT_EQ(CodeOf(Select(Security("", "app.token"), "shop")), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CodeOf(Select(Security("", "app.token"), "no-such-model")),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(CodeOf(Select(Security("ops"))), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(ListModels(Security("ranker"), server_->listen()),
              StatusIs(absl::StatusCode::kPermissionDenied, "role"));
  EXPECT_EQ(CodeOf(Select(Security())), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(CodeOf(Select(Security("stranger"))), grpc::StatusCode::UNAUTHENTICATED);
  Write("wrong.token", "a-token-that-nobody-gave-me");
  EXPECT_EQ(CodeOf(Select(Security("ranker", "wrong.token"))), grpc::StatusCode::UNAUTHENTICATED);
}

// A handshake that fails is UNAVAILABLE to a client: it never gets to a call.
TEST_F(SecurityTest, ForgedAndExpiredCertificatesDoNotGetThroughTheHandshake) {
  Start(Tls() + Access() + kModels);
  const TestAuthority forger("authority");  // the same name, another key
  WritePair(folder_.path(), "forged", forger.Issue({.common_name = "ops.internal"}));
  WritePair(folder_.path(), "expired",
            authority_.Issue({.common_name = "ops.internal",
                              .not_before = absl::Now() - absl::Hours(2),
                              .not_after = absl::Now() - absl::Hours(1)}));
  for (const char* pair : {"forged", "expired"}) {
    EXPECT_THAT(ListModels(Security(pair), server_->listen()),
                StatusIs(absl::StatusCode::kUnavailable, ""))
        << pair;
  }
  EXPECT_THAT(ListModels(Security("ops"), server_->listen()), IsOk());
}

// Handshakes that nobody makes a call after cost more than calls.
TEST_F(SecurityTest, ForgersAreSlowedAndOthersAreNot) {
  Start(Tls() + Access() + kModels);
  const auto honest = *Connect(server_->listen(), Security("ranker"));
  const auto select = [&] {
    grpc::ClientContext context;
    return CodeOf(Select(honest, "news", context));
  };
  ASSERT_EQ(select(), grpc::StatusCode::OK);
  // A connection a call is no offence, and the certificate is one that would be taken.
  const TlsCaller good(folder_.File("ops.pem"), folder_.File("ops.key"));
  EXPECT_TRUE(good.IsAdmitted(server_->listen()));
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(CodeOf(Select(Security("ranker"))), grpc::StatusCode::OK);
  }
  const TestAuthority forger("authority");
  WritePair(folder_.path(), "forged", forger.Issue({.common_name = "ops.internal"}));
  const TlsCaller forged(folder_.File("forged.pem"), folder_.File("forged.key"));
  const auto refused = [&] {
    const std::string page = HttpRequest(server_->http_listen(), "/metrics").body;
    return page.find(
               "bandana_connections_refused_total{listener=\"listen\",reason=\"offender\"} 0\n") ==
           std::string::npos;
  };
  EXPECT_FALSE(refused());
  for (int i = 0; i < 400 && !refused(); ++i) {
    EXPECT_FALSE(forged.IsAdmitted(server_->listen(), "127.0.0.2"));
  }
  EXPECT_TRUE(refused());
  EXPECT_EQ(select(), grpc::StatusCode::OK);
  EXPECT_EQ(CodeOf(Select(Security("ranker"))), grpc::StatusCode::OK);  // of another address
}

TEST_F(SecurityTest, ClientsCheckTheServerToo) {
  Start(Tls() + Access() + kModels);
  const TestAuthority other("other");
  Write("other.pem", other.certificate());
  ChannelSecurity security = Security("", "app.token");
  security.ca_file = folder_.File("other.pem");
  EXPECT_EQ(CodeOf(Select(security)), grpc::StatusCode::UNAVAILABLE);
  security = Security("", "app.token");
  security.server_name = "another.internal";
  EXPECT_EQ(CodeOf(Select(security)), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(CodeOf(Select({})), grpc::StatusCode::UNAVAILABLE);  // plaintext
}

TEST_F(SecurityTest, ClientsNeedNoCertificatesWhereTheirAuthoritiesAreNotNamed) {
  Start("tls { certificate_file: '../server.pem' private_key_file: '../server.key' }\n" +
        std::string(kModels));
  EXPECT_EQ(CodeOf(Select(Security())), grpc::StatusCode::OK);
  EXPECT_EQ(CodeOf(Select(Security("stranger"))), grpc::StatusCode::OK);  // it is not looked at
}

TEST_F(SecurityTest, ARequiredCertificateIsRequired) {
  Start(Tls("require_client_certificate: true") + kModels);  // no access rules: whoever gets in
  EXPECT_EQ(CodeOf(Select(Security())), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(CodeOf(Select(Security("stranger"))), grpc::StatusCode::OK);
}

// Everything that the server says it serves, by reflection.
// One caller makes two users known a day; whom the model knows goes on.
TEST_F(SecurityTest, ACallerMakesSoManyUsersKnownAndNoMore) {
  const std::string windows =
      " reporting { reward_window { duration { seconds: 3600 } default_reward: 0 } }";
  Start(Tls() +
        absl::StrCat("access {\n principals { name: 'app' token_sha256: '", Digest(kAppToken),
                     "' roles: ROLE_SELECT roles: ROLE_REPORT new_users_per_day: 2 }\n"
                     " anonymous_roles: ROLE_SELECT anonymous_roles: ROLE_REPORT }\n"
                     "models { name: 'once' dimension: 2 independent {} mode: NON_PRIVATE }\n"
                     "models { name: 'window' dimension: 2 independent {} mode: NON_PRIVATE",
                     windows, " }\n"));
  const auto connection = *Connect(server_->listen(), Security("", "app.token"));
  const auto anybody = *Connect(server_->listen(), Security());
  const auto select = [](const Connection& over, const std::string& model, const std::string& user,
                         v1::SelectResponse& response) {
    grpc::ClientContext context;
    over.Authorize(context);
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user(user);
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    return CodeOf(v1::Recommender::NewStub(over.channel())->Select(&context, request, &response));
  };
  const auto report = [&](const Connection& over, const std::string& user) {
    v1::SelectResponse selection;
    EXPECT_EQ(select(over, "once", user, selection), grpc::StatusCode::OK);
    grpc::ClientContext context;
    over.Authorize(context);
    v1::ReportRequest request;
    request.set_model("once");
    for (int i = 0; i < 2; ++i) {
      request.add_outcomes()->set_token(selection.token());
      request.mutable_outcomes(i)->set_reward(1);
    }
    v1::ReportResponse response;
    EXPECT_TRUE(
        v1::Recommender::NewStub(over.channel())->Report(&context, request, &response).ok());
    return response.results(0).reason();
  };
  // A selection makes nobody known here, a report does, and two of one user are one.
  EXPECT_EQ(report(connection, "ann"), v1::REJECT_REASON_UNSPECIFIED);
  EXPECT_EQ(report(connection, "bob"), v1::REJECT_REASON_UNSPECIFIED);
  EXPECT_EQ(report(connection, "cyd"), v1::USER_LIMIT);
  EXPECT_EQ(report(connection, "ann"), v1::REJECT_REASON_UNSPECIFIED);
  EXPECT_EQ(report(anybody, "cyd"), v1::REJECT_REASON_UNSPECIFIED);
  EXPECT_EQ(report(connection, "cyd"), v1::REJECT_REASON_UNSPECIFIED);

  // Here a selection does. The other model's users do not count.
  v1::SelectResponse selection;
  EXPECT_EQ(select(connection, "window", "ann", selection), grpc::StatusCode::OK);
  EXPECT_EQ(select(connection, "window", "bob", selection), grpc::StatusCode::OK);
  EXPECT_EQ(select(connection, "window", "cyd", selection), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(select(connection, "window", "ann", selection), grpc::StatusCode::OK);
}

class EveryRpc : public SecurityTest {
 protected:
  // One call with a request of these bytes and no credentials but TLS; the answer's bytes.
  grpc::Status Call(const std::string& rpc, const std::string& request, std::string& response) {
    grpc::GenericStub stub(connection_->channel());
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto call = stub.PrepareCall(&context, "/" + rpc, &queue);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    const grpc::Slice slice(request);
    call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    queue.Next(&tag, &ok);
    grpc::ByteBuffer bytes;
    call->Read(&bytes, nullptr);
    queue.Next(&tag, &ok);
    if (ok) {
      std::vector<grpc::Slice> slices;
      bytes.Dump(&slices);
      for (const grpc::Slice& s : slices) response.append(s.begin(), s.end());
      context.TryCancel();  // of a stream that would stay open
    }
    const bool answered = ok;
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return answered ? grpc::Status::OK : status;
  }

  // grpc.reflection.v1alpha: field 7 of the request is list_services; of the response field 6 is
  // the list, its field 1 a service, whose field 1 is the name.
  std::vector<std::string> Services() {
    std::string response;
    EXPECT_TRUE(Call("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                     std::string("\x3a\x00", 2), response)
                    .ok());
    std::vector<std::string> names;
    const auto fields = [](const std::string& bytes, int number) {
      google::protobuf::Empty message;
      message.ParseFromString(bytes);
      const auto& all = message.GetReflection()->GetUnknownFields(message);
      std::vector<std::string> values;
      for (int i = 0; i < all.field_count(); ++i) {
        if (all.field(i).number() == number) values.push_back(all.field(i).length_delimited());
      }
      return values;
    };
    for (const std::string& list : fields(response, 6)) {
      for (const std::string& service : fields(list, 1)) {
        for (const std::string& name : fields(service, 1)) names.push_back(name);
      }
    }
    return names;
  }

  absl::StatusOr<Connection> connection_ = absl::UnknownError("not connected");
};

TEST_F(EveryRpc, NeedsARoleUnlessItIsListedHereAsOpen) {
  Start(Tls() + Access() + kModels + " limits { refusals_per_connection_max: 1000 }");
  connection_ = Connect(server_->listen(), Security());
  const std::vector<std::string> open = {"grpc.health.v1.Health",
                                         "grpc.reflection.v1.ServerReflection",
                                         "grpc.reflection.v1alpha.ServerReflection"};
  // Registers the descriptors of the two files in this program.
  ASSERT_NE(v1::CreateModelRequest::descriptor(), nullptr);
  ASSERT_NE(grpc::health::v1::HealthCheckRequest::descriptor(), nullptr);
  const std::vector<std::string> services = Services();
  EXPECT_THAT(services, ::testing::IsSupersetOf({"bandana.v1.Recommender", "bandana.v1.Admin"}));
  int closed = 0;
  for (const std::string& name : services) {
    if (std::find(open.begin(), open.end(), name) != open.end()) continue;
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name << " is neither known nor listed as open";
    for (int m = 0; m < service->method_count(); ++m) {
      const std::string rpc = absl::StrCat(name, "/", service->method(m)->name());
      std::string response;
      EXPECT_EQ(CodeOf(Call(rpc, "", response)), grpc::StatusCode::UNAUTHENTICATED) << rpc;
      EXPECT_EQ(response, "") << rpc;
      ++closed;
    }
  }
  EXPECT_GE(closed, 19);
  std::string response;
  EXPECT_TRUE(Call("grpc.health.v1.Health/Check", "", response).ok());
}

TEST_F(SecurityTest, RotatedCertificatesAreTakenWithoutAFailedCall) {
  Start(Tls() + Access() + kModels);
  const TestAuthority next("next authority");
  // Clients trust both while the server changes over, as operators would do it.
  Write("both.pem", authority_.certificate() + next.certificate());
  Write("next.pem", next.certificate());
  ChannelSecurity both = Security("", "app.token");
  both.ca_file = folder_.File("both.pem");
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::atomic<int> failed = 0;
  const auto load = [&](bool fresh) {
    auto connection = *Connect(server_->listen(), both);
    while (!stop) {
      if (fresh) connection = *Connect(server_->listen(), both);  // a handshake a call
      grpc::ClientContext context;
      failed += !Select(connection, "news", context).ok();
      ++calls;
    }
  };
  std::thread steady(load, false);
  std::thread fresh(load, true);
  const int before = calls;
  WriteServerPair(next);  // two files, one after the other: the server may look in between
  ChannelSecurity only_next = Security("", "app.token");
  only_next.ca_file = folder_.File("next.pem");
  while (!Select(only_next).ok()) absl::SleepFor(absl::Milliseconds(50));
  const int after = calls;
  while (calls < after + 20) absl::SleepFor(absl::Milliseconds(10));
  stop = true;
  steady.join();
  fresh.join();
  EXPECT_GT(after, before);
  EXPECT_EQ(failed, 0) << "of " << calls;
  server_->Kill();
  EXPECT_THAT(server_->process().err(), HasSubstr("tls: took the changed certificate files"));
}

// An operator rotates a token; a typing error changes nothing.
TEST_F(SecurityTest, AccessRulesAreTakenAgainOnHangup) {
  constexpr char kNextToken[] = "next-token-77aa88bb99cc00dd";
  Start(Tls() + Access() + kModels);
  Write("next.token", kNextToken);
  const std::string before = Tls() + Access() + kModels;
  const std::string next = absl::StrReplaceAll(before, {{Digest(kAppToken), Digest(kNextToken)}});
  ASSERT_NE(before, next);
  const std::string config = ResolvePath("server.textproto", folder_.File("server"));
  const auto reload = [&](const std::string& text) {
    ASSERT_THAT(WriteFileDurably(config, text, 0600), IsOk());
    server_->process().Signal(SIGHUP);
  };
  const auto connection = *Connect(server_->listen(), Security("", "app.token"));
  const auto code = [&](const std::string& token) {
    grpc::ClientContext context;
    return token.empty() ? CodeOf(Select(connection, "news", context))  // open since the start
                         : CodeOf(Select(Security("", token)));
  };
  EXPECT_EQ(code("next.token"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code(""), grpc::StatusCode::OK);

  reload(next);
  while (code("next.token") != grpc::StatusCode::OK) absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(code(""), grpc::StatusCode::UNAUTHENTICATED);

  reload(absl::StrReplaceAll(before, {{"ROLE_SELECT", "ROLE_SELEKT"}}));  // does not parse
  reload(Tls() + kModels);                                                // would open the server
  const auto failures = [&] { return HttpRequest(server_->http_listen(), "/metrics").body; };
  // Two signals may be taken as one.
  while (failures().find("bandana_access_reload_failures_total 0\n") != std::string::npos) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(code("next.token"), grpc::StatusCode::OK);
  EXPECT_EQ(code("app.token"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(server_->Terminate(), 0);
  const std::string log = server_->process().err();
  EXPECT_THAT(log, HasSubstr("reload: took the access rules"));
  EXPECT_THAT(log, HasSubstr("the rules before stay in use"));
  EXPECT_THAT(log, Not(HasSubstr(Digest(kNextToken))));
}

TEST_F(SecurityTest, ARateIsEnforcedWithTheTimeToWait) {
  Start(Tls() + Access() + kModels);
  const auto connection = *Connect(server_->listen(), Security("", "slow.token"));
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    EXPECT_TRUE(Select(connection, "news", context).ok());
  }
  grpc::ClientContext context;
  EXPECT_EQ(CodeOf(Select(connection, "news", context)), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto pushback = trailers.find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, trailers.end());
  const int millis = std::stoi(std::string(pushback->second.data(), pushback->second.size()));
  EXPECT_GT(millis, 0);
  EXPECT_LE(millis, 10'000);
  EXPECT_EQ(CodeOf(Select(Security("", "app.token"))), grpc::StatusCode::OK);  // others are not
}

TEST_F(SecurityTest, AdminHasItsOwnListenerByOption) {
  Start(Tls() + Access() + kModels + "admin_listen: '127.0.0.1:0'");
  ASSERT_NE(server_->admin_listen(), "");
  EXPECT_THAT(ListModels(Security("ops"), server_->listen()),
              StatusIs(absl::StatusCode::kUnimplemented, ""));
  EXPECT_THAT(ListModels(Security("ops"), server_->admin_listen()), IsOk());
  EXPECT_THAT(ListModels(Security("ranker"), server_->admin_listen()),
              StatusIs(absl::StatusCode::kPermissionDenied, "role"));
  EXPECT_EQ(CodeOf(Select(Security("", "app.token"))), grpc::StatusCode::OK);
  EXPECT_EQ(server_->Terminate(), 0);
}

TEST_F(SecurityTest, TheProgramsTakeTheirCredentialsFromFiles) {
  Start(Tls() + Access() + kModels);
  const std::vector<std::string> tls = {"--target=" + server_->listen(),
                                        "--tls_ca=" + folder_.File("ca.pem"),
                                        "--tls_server_name=server.internal"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), tls.begin(), tls.end());
    return RunProgram("bandana-ctl", more);
  };
  const auto good = run({"models", "list", "--tls_cert=" + folder_.File("ops.pem"),
                         "--tls_key=" + folder_.File("ops.key")});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("news"));
  const auto bad = run({"models", "list", "--token_file=" + folder_.File("app.token")});
  EXPECT_NE(bad.exit_code, 0);
  EXPECT_THAT(bad.err, HasSubstr("PERMISSION_DENIED"));
}

TEST_F(SecurityTest, NothingThatIsWrittenHoldsASecretOrAContext) {
  Start(Tls() + Access() + kModels);
  Write("wrong.token", "a-token-that-nobody-gave-me");
  EXPECT_TRUE(Select(Security("", "app.token")).ok());
  EXPECT_TRUE(Select(Security("ranker")).ok());
  EXPECT_FALSE(Select(Security("", "wrong.token")).ok());
  EXPECT_FALSE(Select(Security("", "app.token"), "shop").ok());
  EXPECT_FALSE(Select(Security("ops")).ok());
  EXPECT_THAT(ListModels(Security("ops"), server_->listen()), IsOk());
  const auto admin = *AdminClient::Connect(server_->listen(), absl::Seconds(60), Security("ops"));
  EXPECT_THAT(admin->Checkpoint("news"), IsOk());
  const std::string request_id = FailedCall();
  EXPECT_EQ(request_id.size(), 16);
  WriteServerPair(authority_);
  Write("server.key", "-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n");
  absl::SleepFor(absl::Milliseconds(1500));  // a reload that fails has its line in the log
  const std::string metrics = HttpRequest(server_->http_listen(), "/metrics").body;
  const std::string page = HttpRequest(server_->http_listen(), "/").body;
  EXPECT_THAT(metrics, HasSubstr("bandana_calls_total"));
  EXPECT_THAT(metrics, HasSubstr("code=\"UNAUTHENTICATED\""));
  EXPECT_THAT(page, HasSubstr("bandana-server"));
  EXPECT_EQ(server_->Terminate(), 0);
  const std::string log = server_->process().err() + server_->process().out();
  EXPECT_THAT(log, HasSubstr("access app by token"));
  EXPECT_THAT(log, HasSubstr("admin: caller=ops method=Checkpoint model=news code=OK"));
  EXPECT_THAT(log, HasSubstr("call: caller=ranker method=Select code=INVALID_ARGUMENT"));
  EXPECT_THAT(log, HasSubstr(request_id));
  for (const std::string& text : {log, metrics, page}) {
    for (const std::string& secret :
         {std::string(kAppToken), Digest(kAppToken), Digest(kSlowToken),
          std::string("a-token-that-nobody-gave-me"), Digest("a-token-that-nobody-gave-me"),
          std::string("PRIVATE KEY"), std::string("nonsense"), std::string("Bearer"),
          std::string("user-whom-no-line-names"), std::string("0.123456789")}) {
      EXPECT_THAT(text, Not(HasSubstr(secret)));
    }
  }
}

}  // namespace
}  // namespace bandana::testing
