// The SDK's process is killed in each state of a report. Afterwards the next process finds what was
// durable, sends the same bytes, and no decision ever has two draws on the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "bandana/client.h"
#include "client/src/seams.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};

ClientOptions OptionsFor(const std::string& target) {
  ClientOptions options;
  options.target = target;
  options.model = "fake";
  options.backoff_min = absl::Milliseconds(1);
  options.backoff_max = absl::Milliseconds(20);
  return options;
}

// ---------------------------------------------------------------------------------- the child

// One line, then wait for the signal.
[[noreturn]] void Arrived(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  while (true) pause();
}

class BlockingBits final : public BitSource {
 public:
  explicit BlockingBits(std::string line) : line_(std::move(line)) {}
  absl::Status Fill(std::span<std::byte>) override { Arrived(line_); }

 private:
  std::string line_;
};

int RunChild(const std::string& state, const std::string& target, const std::string& path) {
  auto store = DeviceStore::Open(path);
  if (!store.ok()) return 2;
  if (state == "drawing") {
    // A first client makes the selection, so that its handle is known before the draw.
    std::string handle;
    {
      auto first = Client::Connect(OptionsFor(target), *store);
      if (!first.ok()) return 3;
      handle = (*first)->Select("u", Arms::Inline(kArms))->handle;
    }
    BlockingBits bits(absl::BytesToHexString(handle));
    device::Seams seams;
    seams.bits = &bits;
    auto client = device::Connect(OptionsFor(target), *store, seams);
    if (!client.ok()) return 3;
    Selection selection;
    selection.handle = handle;
    (void)(*client)->Report(selection, 1.0);
    return 4;
  }
  auto client = Client::Connect(OptionsFor(target), *store);
  if (!client.ok()) return 3;
  if (state == "on_device") {
    if (!(*client)->RefreshPosterior("u").ok()) return 4;
    const auto selection = (*client)->SelectOnDevice("u", Arms::Inline(kArms));
    if (!(*client)->Report(*selection, 1.0).ok()) return 5;
    Arrived("reported");
  }
  if (state == "load") {
    std::thread([] { Arrived("ready"); }).detach();
    while (true) {
      const auto selection = (*client)->Select("u", Arms::Inline(kArms));
      if (selection.ok()) (void)(*client)->Report(*selection, 1.0);
    }
  }
  const auto selection = (*client)->Select("u", Arms::Inline(kArms));
  if (!selection.ok()) return 4;
  if (state != "open" && !(*client)->Report(*selection, 1.0).ok()) return 5;
  if (state == "answered" && !(*client)->Flush(absl::Seconds(10))) return 6;
  Arrived("ready");
}

// --------------------------------------------------------------------------------- the parent

class ClientKillTest : public ::testing::Test {
 protected:
  // Starts a child and waits for its line.
  std::string StartChild(const std::string& state, const FakeRecommender& server) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const std::string path = StorePath();
    const std::string target = server.target();
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      execl("/proc/self/exe", "client_kill_test", "--child", state.c_str(), target.c_str(),
            path.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    std::string line;
    for (char c; read(ends[0], &c, 1) == 1 && c != '\n';) line.push_back(c);
    close(ends[0]);
    return line;
  }
  void KillChild() {
    ASSERT_GT(child_, 0);
    kill(child_, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child_, &status, 0), child_);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    child_ = -1;
  }
  std::unique_ptr<Client> MustConnect(const FakeRecommender& server) {
    auto store = DeviceStore::Open(StorePath());
    EXPECT_THAT(store, IsOk());
    if (!store.ok()) return nullptr;
    auto client = Client::Connect(OptionsFor(server.target()), *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  std::string StorePath() const { return folder_.File("device.db"); }
  void TearDown() override {
    if (child_ > 0) KillChild();
  }

  testing::TempDir folder_;
  pid_t child_ = -1;
};

TEST_F(ClientKillTest, WhileDrawing) {
  FakeRecommender server(LocalSpec());
  Selection selection;
  selection.handle = absl::HexStringToBytes(StartChild("drawing", server));
  KillChild();
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_TRUE(server.deliveries().empty());
  EXPECT_EQ(client->Spent("u")->events, 1);  // debited before the draw, not given back
  // Nothing had left, so the decision may be drawn, at a new price.
  ASSERT_THAT(client->Report(selection, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.applied_reports().size(), 1);
  EXPECT_EQ(client->Spent("u")->events, 2);
}

TEST_F(ClientKillTest, WhileTheServerRefuses) {
  FakeRecommender server(LocalSpec());
  for (int i = 0; i < 100'000; ++i) {
    server.FailDelivery({Fault::Kind::kRefuse, absl::UnavailableError("draining")});
  }
  ASSERT_EQ(StartChild("queued", server), "ready");
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() >= 3; }));
  KillChild();
  FakeRecommender other(LocalSpec());
  const auto client = MustConnect(other);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_EQ(other.deliveries().size(), 1);
  EXPECT_EQ(other.deliveries()[0].bytes, server.deliveries()[0].bytes);
  EXPECT_EQ(client->Stats().reports_applied, 1);
}

TEST_F(ClientKillTest, BeforeTheAnswerArrives) {
  FakeRecommender server(LocalSpec());
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ASSERT_EQ(StartChild("queued", server), "ready");
  ASSERT_TRUE(Eventually([&] { return server.applied_reports().size() == 1; }));
  KillChild();
  server.ReleaseHung();
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  ASSERT_EQ(server.deliveries().size(), 2);
  EXPECT_EQ(server.deliveries()[0].bytes, server.deliveries()[1].bytes);
  EXPECT_EQ(server.applied_reports().size(), 1);
  EXPECT_EQ(client->Stats().reports_duplicate, 1);
}

TEST_F(ClientKillTest, AfterTheAnswer) {
  FakeRecommender server(LocalSpec());
  ASSERT_EQ(StartChild("answered", server), "ready");
  KillChild();
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  // The row may or may not have been deleted; what it repeats is the same.
  for (const auto& delivery : server.deliveries()) {
    EXPECT_EQ(delivery.bytes, server.deliveries()[0].bytes);
  }
  EXPECT_EQ(server.applied_reports().size(), 1);
}

TEST_F(ClientKillTest, WhileTheWindowIsOpen) {
  FakeRecommender server(WindowSpec(absl::Milliseconds(300), 0));
  ASSERT_EQ(StartChild("open", server), "ready");
  KillChild();
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
  EXPECT_EQ(client->Spent("u")->events, 1);
}

TEST_F(ClientKillTest, AfterTheReportInTheWindow) {
  FakeRecommender server(WindowSpec(absl::Seconds(1), 0));
  ASSERT_EQ(StartChild("queued", server), "ready");
  KillChild();
  EXPECT_TRUE(server.deliveries().empty());
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(Eventually([&] { return client->Stats().reports_applied == 1; }));
  EXPECT_EQ(client->Stats().reports_defaulted, 0);
  EXPECT_EQ(server.deliveries().size(), 1);
}

TEST_F(ClientKillTest, AfterTheTokenOfADecisionOnTheDevice) {
  FakeRecommender server(LocalSpec());
  v1::GetPosteriorResponse posterior;
  posterior.set_version(1);
  for (const double value : {1.0, 0.0}) posterior.add_means(value);
  for (const double value : {1.0, 0.0, 1.0}) posterior.add_covariances(value);
  posterior.add_alphas(0);
  server.SetPosterior(posterior);
  server.FailDelivery({Fault::Kind::kHang, absl::OkStatus()});
  ASSERT_EQ(StartChild("on_device", server), "reported");
  ASSERT_TRUE(Eventually([&] { return server.deliveries().size() == 1; }));
  KillChild();
  server.ReleaseHung();
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(server.selects().size(), 1);
  ASSERT_EQ(server.deliveries().size(), 2);
  EXPECT_EQ(server.deliveries()[0].bytes, server.deliveries()[1].bytes);
}

TEST_F(ClientKillTest, AtAnyMomentOfALoad) {
  // Many reports, killed wherever it happens to be, five times over one store. Every token on the
  // wire carries one output only.
  FakeRecommender server(LocalSpec());
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(StartChild("load", server), "ready");
    const std::size_t goal = server.applied_reports().size() + 20 + 13 * round;
    ASSERT_TRUE(Eventually([&] { return server.applied_reports().size() >= goal; }));
    KillChild();
  }
  const auto client = MustConnect(server);
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  std::map<std::string, std::set<std::string>> reports_of_token;
  for (const auto& delivery : server.deliveries()) {
    for (const std::string& bytes : delivery.reports) {
      v1::PerturbedReport report;
      ASSERT_TRUE(report.ParseFromString(bytes));
      reports_of_token[report.token()].insert(bytes);
    }
  }
  for (const auto& [token, reports] : reports_of_token) EXPECT_EQ(reports.size(), 1) << token;
  EXPECT_EQ(server.applied_reports().size(), reports_of_token.size());
  EXPECT_GE(client->Spent("u")->events, reports_of_token.size());
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--child") {
    return bandana::RunChild(argv[2], argv[3], argv[4]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
