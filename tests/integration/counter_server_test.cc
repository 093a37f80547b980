// Counter streams from the SDK into the real server: every step counts once, through restarts of
// either side and epochs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bandana/client.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

// Little noise: what is learnt can be seen after a few hundred events.
constexpr char kConfig[] =
    "models { name: 'counter' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  exploration { alpha: 0 } reward_stddev: 0.1 refresh_interval {}\n"
    "  privacy { epsilon: 18 delta: 1e-6 mechanism: COUNTER counter { horizon: 1000 } }\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'epochs' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  exploration { alpha: 0 } reward_stddev: 0.1 refresh_interval {}\n"
    "  privacy { epsilon: 18 delta: 1e-6 mechanism: COUNTER counter { kind: EPOCHS horizon: 1000 } "
    "}\n"
    "  reporting { one_per_decision: true } }\n";

const std::vector<double> kArms = {1, 0, 0, 1};

class CounterServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer() {
    auto server = ServerProcess::Start({.config = kConfig,
                                        .folder = server_folder_.path(),
                                        .listen = server_ ? server_->listen() : "127.0.0.1:0"});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
  }
  std::unique_ptr<Client> MustConnect(const std::string& model = "counter") {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(20);
    options.policy.epsilon_max = 18;
    options.policy.delta_max = 1e-6;
    auto store = DeviceStore::Open(device_folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    if (!store.ok()) return nullptr;
    auto client = Client::Connect(options, *std::move(store));
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  v1::GetStatsResponse Stats(const std::string& model = "counter") {
    const auto stats = admin_->GetStats(model);
    EXPECT_THAT(stats, IsOk());
    return stats.value_or(v1::GetStatsResponse());
  }
  static absl::Status Event(Client& client, const std::string& user, double reward) {
    auto selection = client.Select(user, Arms::Inline(kArms));
    if (!selection.ok()) return selection.status();
    return client.Report(*selection, reward);
  }

  const TempDir server_folder_;
  const TempDir device_folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
};

TEST_F(CounterServerTest, EveryStepIsAppliedOnce) {
  const auto client = MustConnect();
  ASSERT_NE(client, nullptr);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, user = "user-" + std::to_string(thread)] {
      for (int i = 0; i < 25; ++i) failures += !Event(*client, user, i % 2).ok();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 200);
  EXPECT_EQ(client->Stats().streams_ended, 0);
  EXPECT_EQ(Stats().reports_applied(), 200);
  EXPECT_EQ(Stats().reports_duplicate(), 0);
}

TEST_F(CounterServerTest, ThePosteriorLearnsWhatTheStreamsSay) {
  const auto client = MustConnect();
  ASSERT_NE(client, nullptr);
  // Arm 0 is worth 0.1, arm 1 is worth 0.9; which one is shown does not matter for the estimate.
  const std::vector<double> one_arm[] = {{1, 0}, {0, 1}};
  for (int i = 0; i < 200; ++i) {
    const auto selection = client->Select("u", Arms::Inline(one_arm[i % 2]));
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, i % 2 ? 0.9 : 0.1), IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  std::vector<RankedArm> arms;
  for (int i = 0; i < 500; ++i) {
    const auto selection = client->Select("u", Arms::Inline(kArms), 2);
    ASSERT_THAT(selection, IsOk());
    arms = selection->arms;
    if (arms[0].position == 1 && arms[0].mean > 0.7 && arms[1].mean < 0.3) break;
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_EQ(arms.size(), 2);
  EXPECT_EQ(arms[0].position, 1);
  EXPECT_NEAR(arms[0].mean, 0.9, 0.2);
  EXPECT_NEAR(arms[1].mean, 0.1, 0.2);
}

TEST_F(CounterServerTest, RestartsOfEitherSideLoseNoStep) {
  std::uint64_t reported = 0;
  for (int run = 0; run < 3; ++run) {
    const auto client = MustConnect();
    ASSERT_NE(client, nullptr);
    for (int i = 0; i < 20; ++i, ++reported) ASSERT_THAT(Event(*client, "u", 1), IsOk());
    server_->Kill();
    StartServer();
    for (int i = 0; i < 20; ++i, ++reported) ASSERT_THAT(Event(*client, "u", 1), IsOk());
    if (run == 2) {
      ASSERT_TRUE(client->Flush(absl::Seconds(60)));
      const auto streams = client->Streams("u");
      ASSERT_THAT(streams, IsOk());
      ASSERT_EQ(streams->size(), 1);
      EXPECT_EQ((*streams)[0].steps, reported);
      EXPECT_EQ((*streams)[0].ended, "");
      EXPECT_EQ(client->Spent("u")->streams, 1);
    }
  }
  EXPECT_EQ(Stats().reports_applied(), reported);
}

// The first epoch ends at step 32: until then steps bring their tokens, and nothing moves.
TEST_F(CounterServerTest, EpochsMoveThePosteriorAtTheirEnds) {
  const std::vector<double> one_arm = {1, 0};
  const auto client = MustConnect("epochs");
  ASSERT_NE(client, nullptr);
  const auto event = [&] {
    const auto selection = client->Select("u", Arms::Inline(one_arm));
    if (!selection.ok()) return -1.0;
    EXPECT_THAT(client->Report(*selection, 1), IsOk());
    EXPECT_TRUE(client->Flush(absl::Seconds(30)));
    return selection->arms[0].mean;
  };
  for (int i = 0; i < 31; ++i) EXPECT_EQ(event(), 0);
  server_->Kill();
  StartServer();
  EXPECT_EQ(event(), 0);  // the 32nd
  EXPECT_EQ(Stats("epochs").reports_applied(), 32);
  double mean = 0;
  for (int i = 0; i < 500 && mean == 0; ++i) {
    const auto selection = client->Select("u", Arms::Inline(one_arm));
    ASSERT_THAT(selection, IsOk());
    mean = selection->arms[0].mean;
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_NEAR(mean, 1, 0.3);
  EXPECT_EQ(client->Streams("u")->size(), 1);
}

TEST_F(CounterServerTest, ANewEpochIsANewStreamAndANewDebit) {
  const auto client = MustConnect();
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Event(*client, "u", 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  ASSERT_THAT(admin_->OpenEpoch("counter"), IsOk());
  // The first report after it finds out; from then on all are applied.
  for (int i = 0; i < 500 && client->Streams("u")->back().epoch == 1; ++i) {
    ASSERT_THAT(Event(*client, "u", 1), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  }
  EXPECT_EQ(client->Streams("u")->back().epoch, 2);
  const std::uint64_t applied = client->Stats().reports_applied;
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Event(*client, "u", 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, applied + 5);
  EXPECT_GE(client->Spent("u")->streams, 2);
}

}  // namespace
}  // namespace bandana::testing
