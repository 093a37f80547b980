// bandana-server as a process: start, ready line, pages, drain, and what keeps it from starting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/http_request.h"
#include "tests/support/raw_http2.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using ::testing::MatchesRegex;

constexpr char kModels[] =
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE }\n"
    "models { name: 'local' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  privacy { epsilon: 30 research: true } reporting { one_per_decision: true } }\n";

std::unique_ptr<ServerProcess> Start(const TempDir& folder, const std::string& config) {
  auto server = ServerProcess::Start({.config = config, .folder = folder.path()});
  EXPECT_THAT(server, IsOk());
  return server.ok() ? *std::move(server) : nullptr;
}

// Asks until the page answers with the status; the test's own time limit bounds it.
void AwaitStatus(const ServerProcess& server, const std::string& path, int status) {
  while (HttpRequest(server.http_listen(), path).status != status) {
    absl::SleepFor(absl::Milliseconds(5));
  }
}

TEST(Server, SaysOneReadyLineAndDrainsOnSigterm) {
  const TempDir folder;
  const auto server = Start(folder, kModels);
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(HttpRequest(server->http_listen(), "/healthz").status, 200);
  EXPECT_EQ(HttpRequest(server->http_listen(), "/readyz").status, 200);
  EXPECT_EQ(server->Terminate(), 0);
  EXPECT_THAT(server->process().out(),
              MatchesRegex("bandana-server ready listen=127\\.0\\.0\\.1:[0-9]+ "
                           "http=127\\.0\\.0\\.1:[0-9]+\n"));
}

TEST(Server, SaysWhatItServesAndWarnsOfResearch) {
  const TempDir folder;
  const auto server = Start(folder, kModels);
  ASSERT_NE(server, nullptr);
  server->Kill();
  EXPECT_THAT(server->process().err(),
              AllOf(HasSubstr("model plain: NON_PRIVATE"),
                    HasSubstr("model local: LOCAL_REWARD, CENTRED_RANDOMIZER, epsilon 30"),
                    HasSubstr("MODEL local: research: true lifts the policy caps")));
}

TEST(Server, TurnsNotReadyBeforeItRefusesCalls) {
  const TempDir folder;
  const auto server = Start(folder, std::string(kModels) + "drain_delay { seconds: 60 }");
  ASSERT_NE(server, nullptr);
  server->process().Signal(SIGTERM);
  AwaitStatus(*server, "/readyz", 503);
  EXPECT_EQ(HttpRequest(server->http_listen(), "/healthz").status, 200);
  EXPECT_THAT(HttpRequest(server->http_listen(), "/").body, HasSubstr("<b>Draining.</b>"));
  EXPECT_TRUE(server->process().Running());
  EXPECT_EQ(server->Terminate(), 0);  // the second signal cuts the delay short
}

TEST(Server, SigintDrainsToo) {
  const TempDir folder;
  const auto server = Start(folder, "");
  ASSERT_NE(server, nullptr);
  server->process().Signal(SIGINT);
  EXPECT_EQ(server->process().Wait(), 0);
}

TEST(Server, RefusesAPortThatIsTaken) {
  const TempDir first_folder, second_folder;
  const auto first = Start(first_folder, "");
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(ServerProcess::Start({.folder = second_folder.path(), .listen = first->listen()}),
              StatusIs(absl::StatusCode::kUnavailable, first->listen()));
  EXPECT_THAT(
      ServerProcess::Start({.folder = second_folder.path(), .http_listen = first->http_listen()}),
      StatusIs(absl::StatusCode::kUnavailable, first->http_listen()));
  EXPECT_EQ(HttpRequest(first->http_listen(), "/readyz").status, 200);
}

// UBSan's vptr check opens a pipe to look at an object, and takes what it cannot look at for none.
#if !defined(BANDANA_SANITIZED) || defined(_GLIBCXX_TSAN)  // ThreadSanitizer comes without it
// gRPC's own listener is deaf for good after one connection too many.
TEST(Server, OutlivesRunningOutOfDescriptors) {
  const TempDir folder;
  const auto server = Start(folder, kModels);
  ASSERT_NE(server, nullptr);
  const rlimit few = {.rlim_cur = 100, .rlim_max = 100};
  ASSERT_EQ(::prlimit(server->process().pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  {
    std::vector<RawSocket> sockets;
    for (int i = 0; i < 200; ++i) sockets.emplace_back(server->listen());
    absl::SleepFor(absl::Milliseconds(300));
  }
  bool served = false;
  for (int i = 0; i < 100 && !served; ++i) {
    RawSocket socket(server->listen());
    bool closed = false;
    served = socket.Send(Http2Preface(65'535)) && !socket.Receive(closed).empty();
    if (!served) absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_TRUE(served);
  EXPECT_EQ(server->Terminate(), 0);
}
#endif

TEST(Server, TakesAsManyConnectionsAsDescriptorsAllow) {
  const TempDir folder;
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = std::min<rlim_t>(1000, before.rlim_max),
                      .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);  // inherited
  const auto server = Start(folder, "limits { models_max: 10 }");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_NE(server, nullptr);
  rlimit raised = {};
  ASSERT_EQ(::prlimit(server->process().pid(), RLIMIT_NOFILE, nullptr, &raised), 0);
  const rlim_t wanted = 64 + 8 * 10 + 2 * 4096;  // listen and http_listen
  EXPECT_EQ(raised.rlim_cur, std::min<rlim_t>(wanted, before.rlim_max));
  server->Kill();
  if (before.rlim_max < wanted) {
    EXPECT_THAT(server->process().err(), HasSubstr("connections_max is"));
  }
}

TEST(Server, RefusesADataDirThatIsInUse) {
  const TempDir folder;
  const auto first = Start(folder, "");
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(ServerProcess::Start({.folder = folder.path()}),
              StatusIs(absl::StatusCode::kUnavailable, "is in use by another bandana-server"));
  EXPECT_EQ(first->Terminate(), 0);
  EXPECT_THAT(ServerProcess::Start({.folder = folder.path()}), IsOk());
}

TEST(Server, ADeadServerLeavesItsFolderFree) {
  const TempDir folder;
  const auto first = Start(folder, "");
  ASSERT_NE(first, nullptr);
  first->Kill();
  EXPECT_THAT(ServerProcess::Start({.folder = folder.path()}), IsOk());
}

TEST(Server, RefusesAddressesThatAreNotLoopback) {
  const TempDir folder;
  EXPECT_THAT(ServerProcess::Start({.folder = folder.path(), .listen = "0.0.0.0:0"}),
              StatusIs(absl::StatusCode::kUnavailable, "not a loopback address"));
  EXPECT_THAT(ServerProcess::Start({.config = "insecure_non_loopback: true",
                                    .folder = folder.path(),
                                    .listen = "0.0.0.0:0"}),
              IsOk());
}

TEST(Server, ExplainsItselfAndRefusesBadCommandLines) {
  const ProcessResult help = RunProgram("bandana-server", {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--check_config"));
  const ProcessResult version = RunProgram("bandana-server", {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, MatchesRegex("bandana-server [0-9.]+\n"));
  EXPECT_NE(RunProgram("bandana-server", {}).exit_code, 0);
  EXPECT_NE(RunProgram("bandana-server", {"--nonsense"}).exit_code, 0);
  EXPECT_NE(RunProgram("bandana-server", {"--config=x", "more"}).exit_code, 0);
  const ProcessResult absent = RunProgram("bandana-server", {"--config=/nonexistent/s.textproto"});
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_THAT(absent.err, HasSubstr("/nonexistent/s.textproto"));
}

TEST(CheckConfig, PrintsEveryMistakeWithFileLineAndField) {
  const TempDir folder;
  const std::string path = folder.File("s.textproto");
  ASSERT_THAT(WriteFileDurably(path,
                               "models {\n"
                               "  name: 'Bad'\n"
                               "  dimension: 0\n"
                               "  shared {}\n"
                               "  mode: LOCAL_REWARD\n"
                               "  privacy {\n"
                               "    epsilon: -1\n"
                               "  }\n"
                               "  nonsense: 1\n"
                               "  reporting { one_per_decision: true }\n"
                               "}\n",
                               0600),
              IsOk());
  const ProcessResult result = RunProgram("bandana-server", {"--config=" + path, "--check_config"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr(path + ":2:3: models[0].name: "),
                                HasSubstr(path + ":3:3: models[0].dimension: "),
                                HasSubstr(path + ":7:5: models[0].privacy.epsilon: "),
                                HasSubstr(path + ":9:"), HasSubstr("nonsense")));
  const ProcessResult start = RunProgram("bandana-server", {"--config=" + path});
  EXPECT_EQ(start.exit_code, 1);
  EXPECT_THAT(start.err, HasSubstr("models[0].privacy.epsilon"));
}

TEST(CheckConfig, ExplainsARightFileWithoutTouchingItsData) {
  const TempDir folder;
  const std::string path = folder.File("s.textproto");
  ASSERT_THAT(WriteFileDurably(path, kModels, 0600), IsOk());
  const ProcessResult result = RunProgram("bandana-server", {"--config=" + path, "--check_config"});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("model plain"), HasSubstr("model local"),
                                HasSubstr("WARNING"), HasSubstr("epsilon 30")));
  EXPECT_THAT(ReadFile(folder.File("data/LOCK"), 1), StatusIs(absl::StatusCode::kNotFound));
}

TEST(CheckConfig, TheExamplesAreRight) {
  for (const std::string name : {"example.textproto", "container.textproto"}) {
    const ProcessResult result = RunProgram(
        "bandana-server", {"--config=" BANDANA_SOURCE_DIR "/deploy/" + name, "--check_config"});
    EXPECT_EQ(result.exit_code, 0) << result.out;
  }
}

TEST(Pages, AnswerGetAndHeadOnly) {
  const TempDir folder;
  const auto server = Start(folder, kModels);
  ASSERT_NE(server, nullptr);
  const std::string& http = server->http_listen();
  const auto page = HttpRequest(http, "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("text/html"));
  EXPECT_THAT(page.body, AllOf(HasSubstr(">plain</a>"), HasSubstr(">local</a>"),
                               HasSubstr("research"), Not(HasSubstr("http://"))));
  const auto head = HttpRequest(http, "/", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(HttpRequest(http, "/?x=1").status, 200);
  EXPECT_EQ(HttpRequest(http, "/nonsense").status, 404);
  EXPECT_EQ(HttpRequest(http, "/../etc/passwd").status, 404);
  EXPECT_EQ(HttpRequest(http, "/", "POST").status, 405);
  // A page whose own name was let point here.
  const auto other = testing::Send(http, {.method = "GET", .path = "/", .host = "evil.example"});
  EXPECT_EQ(other.status, 403);
  EXPECT_THAT(other.body, Not(HasSubstr("plain")));
  EXPECT_EQ(testing::Send(http, {.method = "GET", .path = "/", .host = "localhost"}).status, 200);
  EXPECT_NE(HttpRequest(http, "/" + std::string(100'000, 'x')).status, 200);
  EXPECT_EQ(HttpRequest(http, "/healthz").status, 200);
}

}  // namespace
}  // namespace bandana::testing
