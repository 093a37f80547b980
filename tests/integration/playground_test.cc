// bandana-server --playground: real visitors, and nothing that is left of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/child_process.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/base/settings.h"
#include "tools/ctl/admin_client.h"
#include "tools/environments/environment.h"

namespace bandana::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Long enough for a sanitized build on a busy machine.
bool Soon(const std::function<bool()>& condition) {
  const absl::Time end = absl::Now() + absl::Seconds(120);
  while (!condition() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(50));
  return condition();
}

// The command line of a running process; empty: there is none.
std::string CommandOf(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Processes whose command line has the text: the fleets of one server name its address.
std::set<int> ProcessesWith(const std::string& text) {
  std::set<int> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (absl::StrContains(CommandOf(std::stoi(name)), text)) found.insert(std::stoi(name));
  }
  return found;
}

class PlaygroundTest : public ::testing::Test {
 protected:
  // TMPDIR is the test's own, so that what is left there is seen.
  PlaygroundTest() {
    if (const char* const before = ::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  ~PlaygroundTest() override {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }

  void Start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {ProgramPath("bandana-server"), "--playground",
                                        "--listen=127.0.0.1:0", "--http_listen=127.0.0.1:0",
                                        "--api_listen=127.0.0.1:0"};
    command.insert(command.end(), more.begin(), more.end());
    server_ = std::make_unique<ChildProcess>(command);
    server_->AwaitLine(absl::Seconds(120), /*lines=*/9);
    const std::string out = server_->out();
    listen_ = Word(out, "ready listen=");
    http_ = Word(out, " http=");
    api_ = Word(out, " api=");
    ASSERT_FALSE(listen_.empty()) << server_->err();
  }
  static std::string Word(const std::string& text, const std::string& before) {
    const std::size_t at = text.find(before);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + before.size();
    return text.substr(begin, text.find_first_of(" \n", begin) - begin);
  }
  std::set<int> Fleets() const { return ProcessesWith("--target=" + listen_); }
  v1::GetStatsResponse Stats(const std::string& model) const {
    const auto client = AdminClient::Connect(listen_, absl::Seconds(60));
    if (!client.ok()) return {};
    return (*client)->GetStats(model).value_or(v1::GetStatsResponse());
  }

  std::string before_;
  TempDir folder_;
  std::unique_ptr<ChildProcess> server_;
  std::string listen_;
  std::string http_;
  std::string api_;
};

TEST_F(PlaygroundTest, VisitorsDecideTheRewardRisesAndNothingIsLeft) {
  Start();
  const std::string out = server_->out();
  EXPECT_TRUE(out.starts_with("bandana-server ready listen=")) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("Look:     http://" + http_ + "/\n"),
                         HasSubstr("Console:  http://" + api_ + "/console/\n"),
                         HasSubstr("http://" + api_ + "/personalizer/v1.0/rank"),
                         HasSubstr("bandana-fleet\n")));
  EXPECT_TRUE(Soon([&] { return Fleets().size() == 3; }));
  for (const char* const model : {"clicks", "private", "personalizer"}) {
    EXPECT_TRUE(Soon([&] { return Stats(model).rewards().rewards() >= 40; })) << model;
  }
  // Half of the way from a choice at random to the best of the ten arms, over all so far.
  Choice world;
  const std::vector<std::string> ten = {"arms=10"};
  const auto settings = Settings::Parse(ten);
  (*MakeEnvironment("mab", *settings, /*seed=*/7))->DecisionAt(0, world);
  const double learnt = (world.MeanExpected() + world.BestExpected()) / 2;
  EXPECT_TRUE(Soon([&] {
    const v1::RewardStats rewards = Stats("clicks").rewards();
    return rewards.rewards() >= 300 && rewards.mean() > learnt;
  })) << Stats("clicks").rewards().ShortDebugString();
  EXPECT_TRUE(Stats("private").rewards().has_low());
  EXPECT_THAT(HttpRequest(http_, "/").body,
              AllOf(HasSubstr("clicks"), HasSubstr("private"), HasSubstr("personalizer")));
  EXPECT_THAT(HttpRequest(http_, "/metrics").body,
              HasSubstr("bandana_model_decisions_explored_total{model=\"clicks\"}"));
  const HttpResult rank =
      Send(api_, {.path = "/personalizer/v1.0/rank",
                  .headers = {"Content-Type: application/json"},
                  .body = R"({"contextFeatures": [{"device": "phone"}], "actions": [
                     {"id": "news", "features": [{"topic": "news"}]},
                     {"id": "sport", "features": [{"topic": "sport"}]}]})"});
  EXPECT_EQ(rank.status, 201) << rank.body;
  EXPECT_THAT(rank.body, HasSubstr("rewardActionId"));

  server_->Signal(SIGINT);
  EXPECT_EQ(server_->Wait(), 0) << server_->err();
  EXPECT_THAT(Fleets(), SizeIs(0));
  EXPECT_TRUE(Soon([&] { return std::filesystem::is_empty(folder_.path()); }));
}

TEST_F(PlaygroundTest, VisitorsEndWithAServerThatIsKilled) {
  Start();
  ASSERT_TRUE(Soon([&] { return Fleets().size() == 3; }));
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->Wait(), 128 + SIGKILL);
  EXPECT_TRUE(Soon([&] { return Fleets().empty(); }));
}

TEST_F(PlaygroundTest, VisitorsThatEndAreNamed) {
  Start();
  ASSERT_TRUE(Soon([&] { return Fleets().size() == 3; }));
  ::kill(*Fleets().begin(), SIGKILL);
  EXPECT_TRUE(Soon([&] { return absl::StrContains(server_->err(), "have ended"); }));
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->Wait(), 0);
}

TEST_F(PlaygroundTest, DataStayWhereAFolderIsNamed) {
  const std::string data = folder_.File("kept");
  Start({"--data_dir=" + data});
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->Wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(data + "/models/clicks")) << server_->err();
}

TEST_F(PlaygroundTest, ATakenPortIsNamed) {
  Start();
  const ProcessResult second =
      RunProgram("bandana-server", {"--playground", "--listen=127.0.0.1:0",
                                    "--http_listen=" + http_, "--api_listen=127.0.0.1:0"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, AllOf(HasSubstr(http_), HasSubstr("in use")));
  EXPECT_EQ(second.out, "");
}

TEST_F(PlaygroundTest, OtherMachinesDoNotReachIt) {
  const ProcessResult open =
      RunProgram("bandana-server", {"--playground", "--listen=0.0.0.0:0",
                                    "--http_listen=127.0.0.1:0", "--api_listen=127.0.0.1:0"});
  EXPECT_EQ(open.exit_code, 1);
  EXPECT_THAT(open.err, HasSubstr("--listen: 0.0.0.0:0 is not"));
  EXPECT_EQ(RunProgram("bandana-server", {"--playground", "--config=x"}).exit_code, 2);
}

}  // namespace
}  // namespace bandana::testing
