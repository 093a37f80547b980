// Leave::kAtStart: reports leave at starts of the application alone, whatever a reaction does to
// the process. The clock is the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "bandana/client.h"
#include "client/src/seams.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};
constexpr absl::Duration kWindow = absl::Seconds(80);
constexpr absl::Duration kLeft = absl::Seconds(80 + 10 + 1);

ClientOptions OptionsFor(const std::string& target, ClientOptions::Leave leave) {
  ClientOptions options;
  options.target = target;
  options.model = "fake";
  options.leave = leave;
  options.backoff_min = options.backoff_max = absl::Milliseconds(1);
  options.posterior_interval = absl::Milliseconds(2);
  return options;
}

class ClientLeaveTest : public ::testing::Test {
 protected:
  ClientLeaveTest() : server_(WindowSpec(kWindow, 0.0)) {}

  absl::StatusOr<std::unique_ptr<Client>> TryConnect(
      ClientOptions::Leave leave = ClientOptions::Leave::kAtStart) {
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    Seams seams;
    seams.clock = &clock_;
    seams.recheck = absl::Milliseconds(2);
    return Connect(OptionsFor(server_.target(), leave), *store, seams);
  }
  // After the start that Connect is.
  std::unique_ptr<Client> MustConnect() {
    auto client = TryConnect();
    EXPECT_THAT(client, IsOk());
    if (!client.ok()) return nullptr;
    EXPECT_TRUE((*client)->Flush(absl::Seconds(10)));
    return *std::move(client);
  }
  static void Begin(Client& client) {
    client.Begin();
    EXPECT_TRUE(client.Flush(absl::Seconds(10)));
  }
  static Selection SelectOne(Client& client) {
    auto selection = client.Select("u", Arms::Inline(kArms));
    EXPECT_THAT(selection, IsOk());
    return selection.value_or(Selection());
  }
  // Long enough for whatever a timer would do.
  static void LetTimersRun() { absl::SleepFor(absl::Milliseconds(30)); }

  testing::TempDir folder_;
  FakeRecommender server_;
  FakeClock clock_;
};

TEST_F(ClientLeaveTest, WhatIsDueWaitsForAStart) {
  const auto client = MustConnect();
  ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
  SelectOne(*client);
  clock_.Advance(kLeft);
  LetTimersRun();
  EXPECT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_TRUE(server_.deliveries().empty());
  Begin(*client);
  EXPECT_EQ(server_.applied_reports().size(), 2);
  EXPECT_EQ(client->Stats().reports_pending, 0);
  EXPECT_EQ(client->Stats().reports_defaulted, 1);
}

TEST_F(ClientLeaveTest, AStartWithAnOpenWindowIsNotNoticed) {
  auto client = MustConnect();
  ASSERT_THAT(client->Report(SelectOne(*client), 1.0), IsOk());
  clock_.Advance(kLeft / 2);
  SelectOne(*client);
  clock_.Advance(kLeft / 2);  // the first is due, the second is open
  const int asked = server_.model_requests();
  Begin(*client);
  client.reset();  // as if the reaction had ended the process
  client = MustConnect();
  Begin(*client);
  EXPECT_EQ(server_.model_requests(), asked);
  EXPECT_TRUE(server_.deliveries().empty());
  SelectOne(*client);  // it serves selections
  clock_.Advance(kLeft);
  client.reset();
  client = MustConnect();
  EXPECT_EQ(server_.model_requests(), asked + 1);
  EXPECT_EQ(server_.applied_reports().size(), 3);
}

TEST_F(ClientLeaveTest, ADeliveryIsTriedOncePerStart) {
  auto client = MustConnect();
  SelectOne(*client);
  clock_.Advance(kLeft);
  server_.FailDelivery({.status = absl::UnavailableError("no")});
  Begin(*client);
  LetTimersRun();
  ASSERT_EQ(server_.deliveries().size(), 1);
  EXPECT_EQ(client->Stats().reports_pending, 1);
  server_.FailDelivery({.kind = Fault::Kind::kLoseAnswer, .status = absl::UnavailableError("no")});
  Begin(*client);
  client.reset();
  client = MustConnect();
  ASSERT_EQ(server_.deliveries().size(), 3);
  EXPECT_EQ(server_.deliveries()[0].bytes, server_.deliveries()[1].bytes);
  EXPECT_EQ(server_.deliveries()[0].bytes, server_.deliveries()[2].bytes);
  EXPECT_EQ(server_.applied_reports().size(), 1);
  EXPECT_EQ(client->Stats().reports_duplicate, 1);
}

TEST_F(ClientLeaveTest, SelectionsWaitUntilAllCallsOfAStartHaveEnded) {
  const auto client = MustConnect();
  SelectOne(*client);
  clock_.Advance(kLeft);
  server_.FailDelivery({.kind = Fault::Kind::kHang, .status = absl::UnavailableError("no")});
  client->Begin();
  ASSERT_TRUE(Eventually([&] { return server_.deliveries().size() == 1; }));
  std::atomic<bool> selected = false;
  client->SelectAsync("u", Arms::Inline(kArms), {},
                      [&](const absl::StatusOr<Selection>&) { selected = true; });
  LetTimersRun();
  EXPECT_FALSE(selected);
  EXPECT_EQ(server_.selects().size(), 1);
  server_.ReleaseHung();
  EXPECT_TRUE(Eventually([&] { return selected.load(); }));
}

// An answered GetModel before it or after it would tell a start from another process.
TEST_F(ClientLeaveTest, PosteriorsOfUsersAreFetchedWhenAllCallsOfAStartHaveEnded) {
  v1::GetPosteriorResponse posterior;
  posterior.set_version(3);
  for (const double mean : {0.5, 0.1}) posterior.add_means(mean);
  for (const double entry : {1.0, 0.0, 1.0}) posterior.add_covariances(entry);
  posterior.add_alphas(1);
  server_.SetPosterior(posterior);
  const auto client = MustConnect();
  SelectOne(*client);
  clock_.Advance(kLeft);
  server_.FailDelivery({.kind = Fault::Kind::kHang, .status = absl::UnavailableError("no")});
  client->Begin();
  ASSERT_TRUE(Eventually([&] { return server_.deliveries().size() == 1; }));
  std::thread refreshing([&] { EXPECT_THAT(client->RefreshPosterior("u"), IsOk()); });
  LetTimersRun();
  EXPECT_TRUE(server_.posterior_requests().empty());
  server_.ReleaseHung();
  refreshing.join();
  EXPECT_EQ(server_.posterior_requests().size(), 1);
}

TEST_F(ClientLeaveTest, WhatNoStartCouldSendEndsAndIsCounted) {
  const auto client = MustConnect();
  SelectOne(*client);
  const absl::Duration lifetime = client->model().token_lifetime;
  clock_.Advance(lifetime);
  SelectOne(*client);
  clock_.Advance(kLeft / 2);
  SelectOne(*client);
  clock_.Advance(kLeft / 2);
  // Two windows are over; one is open, and so none leaves. The first is too old now.
  Begin(*client);
  EXPECT_TRUE(server_.deliveries().empty());
  EXPECT_EQ(client->Stats().reports_overtaken, 1);
  EXPECT_EQ(client->Stats().reports_expired, 1);
  EXPECT_EQ(client->Stats().reports_pending, 2);
  clock_.Advance(kLeft);
  Begin(*client);
  EXPECT_EQ(server_.applied_reports().size(), 2);
}

TEST_F(ClientLeaveTest, IsForLocalModelsWithAWindow) {
  server_.SetSpec(LocalSpec());
  EXPECT_THAT(TryConnect(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     "options.leave is kAtStart, which needs a reward window"));
  PublicSpec central = WindowSpec(kWindow, 0);
  central.mode = Mode::kCentralReward;
  central.reward_window->grace = absl::Seconds(20);
  server_.SetSpec(central);
  ClientOptions options = OptionsFor(server_.target(), ClientOptions::Leave::kAtStart);
  options.policy.require_local = false;
  EXPECT_THAT(Client::Connect(options, DeviceStore::InMemory()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "options.leave is kAtStart, which needs a reward window"));
}

TEST_F(ClientLeaveTest, TakingAStoreOverIsNoStart) {
  auto client = MustConnect();
  SelectOne(*client);
  clock_.Advance(kLeft);
  // Another tab waits for the file, and gets it when this one goes.
  EXPECT_THAT(DeviceStore::Open(folder_.File("device.db")),
              StatusIs(absl::StatusCode::kUnavailable, "device store"));
  client.reset();
  const int asked = server_.model_requests();
  client = MustConnect();
  EXPECT_EQ(server_.model_requests(), asked);
  EXPECT_TRUE(server_.deliveries().empty());
  Begin(*client);
  EXPECT_EQ(server_.applied_reports().size(), 1);
}

TEST_F(ClientLeaveTest, ACounterStepsAndLeavesAtStarts) {
  PublicSpec spec = CounterModelSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{kWindow, 0};
  server_.SetSpec(spec);
  ClientOptions options = OptionsFor(server_.target(), ClientOptions::Leave::kAtStart);
  options.policy.delta_max = 1e-5;
  Seams seams;
  seams.clock = &clock_;
  auto store = DeviceStore::Open(folder_.File("device.db"));
  const auto client = Connect(options, *store, seams);
  ASSERT_THAT(client, IsOk());
  SelectOne(**client);
  SelectOne(**client);
  clock_.Advance(kLeft);
  server_.FailDelivery({.status = absl::UnavailableError("no")});
  Begin(**client);
  LetTimersRun();
  EXPECT_EQ(server_.counter_reports().size(), 1);
  Begin(**client);
  ASSERT_EQ(server_.counter_reports().size(), 2);
  EXPECT_EQ(server_.streams().begin()->second.step, 2);
  EXPECT_EQ((*client)->Stats().reports_applied, 2);
  EXPECT_EQ((*client)->Stats().reports_pending, 0);
}

TEST_F(ClientLeaveTest, PosteriorsAreFetchedAtStartsAndOutliveTheProcess) {
  PublicSpec spec = ContextModelSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{kWindow, 0};
  server_.SetSpec(spec);
  v1::GetPosteriorResponse posterior;
  posterior.set_version(3);
  for (const double mean : {0.5, 0.1}) posterior.add_means(mean);
  for (const double entry : {1.0, 0.0, 1.0}) posterior.add_covariances(entry);
  posterior.add_alphas(1);
  server_.SetPosterior(posterior);
  auto client = MustConnect();
  LetTimersRun();
  EXPECT_EQ(server_.posterior_requests().size(), 1);
  EXPECT_EQ(SelectOne(*client).posterior_version, 3);
  client.reset();
  client = MustConnect();
  EXPECT_EQ(SelectOne(*client).posterior_version, 3);
  EXPECT_EQ(server_.posterior_requests().size(), 1);
  clock_.Advance(kLeft);
  posterior.set_version(4);
  server_.SetPosterior(posterior);
  Begin(*client);
  EXPECT_EQ(server_.posterior_requests().size(), 2);
  EXPECT_EQ(SelectOne(*client).posterior_version, 4);
  EXPECT_EQ(server_.applied_contexts().size(), 2);
}

// Established connections of this machine to the port.
int ConnectionsTo(int port) {
  int count = 0;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state;
      words >> slot >> local >> remote >> state;
      const bool to_port = remote.ends_with(absl::StrFormat(":%04X", port));
      if (to_port && state == "01") ++count;
    }
  }
  return count;
}

TEST_F(ClientLeaveTest, NoConnectionOutlivesACall) {
  const auto client = MustConnect();
  SelectOne(*client);
  EXPECT_EQ(ConnectionsTo(server_.port()), 0);
  const testing::TempDir folder;
  auto store = DeviceStore::Open(folder.File("device.db"));
  auto other =
      Client::Connect(OptionsFor(server_.target(), ClientOptions::Leave::kWhenDue), *store);
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(ConnectionsTo(server_.port()), 1);  // such a one would be seen to end
}

// ----------------------------------------------------------------------------- real processes

constexpr absl::Duration kShort = absl::Milliseconds(400);
constexpr absl::Duration kUntilNextStart = absl::Milliseconds(1500);

// The application of one process: selects where it is told to, and may end by its reaction.
int RunChild(const std::string& what, const std::string& target, const std::string& path) {
  const absl::Time begun = absl::Now();
  auto store = DeviceStore::Open(path);
  if (!store.ok()) return 2;
  const auto leave =
      what.ends_with("due") ? ClientOptions::Leave::kWhenDue : ClientOptions::Leave::kAtStart;
  auto client = Client::Connect(OptionsFor(target, leave), *store);
  if (!client.ok()) return 3;
  if (what.starts_with("next")) {
    const bool ended = (*client)->Flush(absl::Seconds(20));
    absl::SleepFor(absl::Milliseconds(200));
    return ended ? 0 : 4;
  }
  const auto selection = (*client)->Select("u", Arms::Inline(kArms));
  if (!selection.ok()) return 5;
  if (what.starts_with("click")) {
    if (!(*client)->Report(*selection, 1.0).ok()) return 6;
    _exit(0);
  }
  absl::SleepFor(begun + kUntilNextStart - absl::Now());
  _exit(0);
}

int Run(const std::string& what, const std::string& target, const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "client_leave_test", "--child", what.c_str(), target.c_str(),
          path.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// Whether the report came before the second process began.
bool CameBefore(const std::string& reaction, const std::string& leave) {
  const testing::TempDir folder;
  FakeRecommender server(WindowSpec(kShort, 0));
  const absl::Time begun = absl::Now();
  const std::string path = folder.File("device.db");
  EXPECT_EQ(Run(reaction + leave, server.target(), path), 0);
  absl::SleepFor(begun + kUntilNextStart + absl::Milliseconds(200) - absl::Now());
  const absl::Time next = absl::Now();
  EXPECT_EQ(Run("next " + leave, server.target(), path), 0);
  EXPECT_EQ(server.applied_reports().size(), 1);
  return server.deliveries().empty() || server.deliveries().front().at < next;
}

TEST(ClientLeaveProcessTest, AReactionThatEndsTheProcessDoesNotMoveTheArrival) {
  EXPECT_FALSE(CameBefore("click ", "start"));
  EXPECT_FALSE(CameBefore("none ", "start"));
  // The application's promise where reports leave when they are due.
  EXPECT_FALSE(CameBefore("click ", "due"));
  EXPECT_TRUE(CameBefore("none ", "due"));
}

}  // namespace

int ChildOfLeaveTest(char** argv) { return RunChild(argv[2], argv[3], argv[4]); }

}  // namespace bandana::device

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--child") {
    return bandana::device::ChildOfLeaveTest(argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
