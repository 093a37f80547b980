// access.generate_token in a real server: shown once, kept by its digest, never logged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] =
    "access { generate_token: true }\n"
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE }\n";

class GeneratedTokenServerTest : public ::testing::Test {
 protected:
  void Start() {
    server_.reset();
    auto server = ServerProcess::Start({.config = kConfig, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  // A call of Admin with this token; "": without.
  absl::Status Call(const std::string& token) {
    ChannelSecurity security;
    if (!token.empty()) {
      security.token_file = folder_.File(absl::StrCat("token-", files_++));
      EXPECT_THAT(WriteFileDurably(security.token_file, token, 0600), IsOk());
    }
    return (*AdminClient::Connect(server_->listen(), absl::Seconds(60), security))
        ->ListModels()
        .status();
  }
  // SIGHUP, and waits until the log says that the rules were taken `times` times.
  void Reload(int times) {
    server_->process().Signal(SIGHUP);
    for (int found = 0; found < times; absl::SleepFor(absl::Milliseconds(20))) {
      const std::string log = server_->process().err();
      found = 0;
      for (std::size_t at = log.find(kTaken); at != std::string::npos;
           at = log.find(kTaken, at + 1))
        ++found;
    }
  }

  static constexpr char kTaken[] = "reload: took the access rules";
  const TempDir folder_;
  const std::string digest_file_ = folder_.File("data/generated_token_sha256");
  std::unique_ptr<ServerProcess> server_;
  int files_ = 0;
};

TEST_F(GeneratedTokenServerTest, IsShownAtTheFirstStartAndHoldsAfterwards) {
  Start();
  const std::string token = server_->token();
  ASSERT_EQ(token.size(), 64);
  EXPECT_THAT(Call(token), IsOk());
  EXPECT_THAT(Call(""), StatusIs(absl::StatusCode::kUnauthenticated, ""));
  EXPECT_THAT(Call(std::string(64, '0')), StatusIs(absl::StatusCode::kUnauthenticated, ""));
  EXPECT_EQ(server_->Terminate(), 0);
  EXPECT_THAT(server_->process().err(), Not(HasSubstr(token)));
  Start();
  EXPECT_EQ(server_->token(), "");
  EXPECT_THAT(Call(token), IsOk());
  server_->Kill();
  Start();
  EXPECT_EQ(server_->token(), "");
  EXPECT_THAT(Call(token), IsOk());
}

TEST_F(GeneratedTokenServerTest, HoldsOverAReloadAndIsReplacedWhenItsFileIsGone) {
  Start();
  const std::string token = server_->token();
  Reload(1);
  EXPECT_THAT(Call(token), IsOk());
  ASSERT_TRUE(std::filesystem::remove(digest_file_));
  Reload(2);
  EXPECT_THAT(Call(token), StatusIs(absl::StatusCode::kUnauthenticated, ""));
  server_->Terminate();
  const std::string out = server_->process().out();
  const std::string last = out.substr(out.rfind("bandana-server token ") + 21, 64);
  EXPECT_NE(last, token);
  EXPECT_THAT(server_->process().err(), Not(HasSubstr(last)));
  Start();
  EXPECT_THAT(Call(last), IsOk());
}

TEST_F(GeneratedTokenServerTest, ADamagedDigestChangesNothingAtAReloadAndKeepsItFromStarting) {
  Start();
  const std::string token = server_->token();
  ASSERT_THAT(WriteFileDurably(digest_file_, "damaged", 0600), IsOk());
  server_->process().Signal(SIGHUP);
  while (HttpRequest(server_->http_listen(), "/metrics")
             .body.find("bandana_access_reload_failures_total 0\n") != std::string::npos) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_THAT(Call(token), IsOk());
  server_->Terminate();
  EXPECT_THAT(ServerProcess::Start({.config = kConfig, .folder = folder_.path()}),
              StatusIs(absl::StatusCode::kUnavailable, "bandana-server was not ready"));
}

}  // namespace
}  // namespace bandana::testing
