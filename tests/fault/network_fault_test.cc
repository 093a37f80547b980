// The SDK and the real server with a bad network between them: whatever it does, every report
// counts exactly once in the end, and selections fail in time instead of hanging.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/client.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] =
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'randomized' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } reporting { one_per_decision: true } }\n"
    "models { name: 'counter' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 1000 } }\n"
    "  reporting { one_per_decision: true } }\n";

const std::vector<double> kArms = {1, 0, 0, 1};

class NetworkFaultTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto server = ServerProcess::Start({.config = kConfig, .folder = server_folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    proxy_ = FaultProxy::Start(server_->listen());
    ClientOptions options;
    options.target = proxy_->address();
    options.model = GetParam();
    options.select_deadline = absl::Milliseconds(500);
    options.report_deadline = absl::Milliseconds(300);
    options.backoff_min = absl::Milliseconds(5);
    options.backoff_max = absl::Milliseconds(100);
    options.policy.delta_max = 1e-6;
    if (std::string(GetParam()) == "plain") {
      options.policy.require_local = false;
      options.policy.require_proven = false;
      options.policy.epsilon_max = std::numeric_limits<double>::infinity();
    }
    auto store = DeviceStore::Open(device_folder_.File("device.db"));
    ASSERT_THAT(store, IsOk());
    auto client = Client::Connect(options, *std::move(store));
    ASSERT_THAT(client, IsOk());
    client_ = *std::move(client);
  }

  // Makes up to `tries` selections and reports those that were answered.
  void Load(int tries) {
    for (int i = 0; i < tries; ++i) {
      const absl::Time start = absl::Now();
      const auto selection = client_->Select("u" + std::to_string(i % 3), Arms::Inline(kArms));
      // Ten times the deadline: a selection that hangs is found, a slow machine is not.
      EXPECT_LT(absl::Now() - start, absl::Seconds(5));
      if (!selection.ok()) continue;
      ASSERT_THAT(client_->Report(*selection, i % 2), IsOk());
      ++reported_;
    }
  }
  void ExpectEachOnce() {
    proxy_->Set(FaultProxy::Mode::kPass);
    ASSERT_TRUE(client_->Flush(absl::Seconds(60)));
    const ClientStats stats = client_->Stats();
    EXPECT_EQ(stats.reports_applied + stats.reports_duplicate, reported_);
    EXPECT_EQ(stats.reports_rejected, 0);
    EXPECT_EQ(stats.reports_expired, 0);
    EXPECT_EQ(stats.streams_ended, 0);
    const auto admin = AdminClient::Connect(server_->listen(), absl::Seconds(30));
    ASSERT_THAT(admin, IsOk());
    const auto server = (*admin)->GetStats(GetParam());
    ASSERT_THAT(server, IsOk());
    EXPECT_EQ(server->reports_applied(), reported_);
  }

  const TempDir server_folder_;
  const TempDir device_folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<Client> client_;
  std::uint64_t reported_ = 0;
};

TEST_P(NetworkFaultTest, ConnectionsThatAreCutAgainAndAgain) {
  for (int round = 0; round < 10; ++round) {
    Load(8);
    proxy_->Cut();
  }
  EXPECT_GE(reported_, 10);
  EXPECT_GE(proxy_->connections(), 3);
  ExpectEachOnce();
}

TEST_P(NetworkFaultTest, ASlowLink) {
  proxy_->Set(FaultProxy::Mode::kSlow, absl::Milliseconds(20));
  Load(15);
  EXPECT_GE(reported_, 10);
  ExpectEachOnce();
}

// The server takes the reports, and its answers do not arrive: the device sends them again.
TEST_P(NetworkFaultTest, AnswersThatAreLost) {
  Load(5);
  for (int round = 0; round < 3; ++round) {
    const auto selection = client_->Select("u0", Arms::Inline(kArms));
    proxy_->Set(FaultProxy::Mode::kDeaf);
    if (selection.ok()) {
      ASSERT_THAT(client_->Report(*selection, 1.0), IsOk());
      ++reported_;
    }
    absl::SleepFor(absl::Milliseconds(400));  // beyond a report's deadline
    proxy_->Cut();
    proxy_->Set(FaultProxy::Mode::kPass);
    Load(5);
  }
  EXPECT_GE(reported_, 8);
  ExpectEachOnce();
}

TEST_P(NetworkFaultTest, ABlackHoleAndItsEnd) {
  Load(5);
  proxy_->Set(FaultProxy::Mode::kBlackHole);
  Load(3);
  proxy_->Set(FaultProxy::Mode::kPass);
  ExpectEachOnce();
}

TEST_P(NetworkFaultTest, AServerThatSaysNoMoreAndOneThatRefuses) {
  Load(5);
  proxy_->Set(FaultProxy::Mode::kHalfClose);
  Load(3);
  proxy_->Set(FaultProxy::Mode::kRefuse);
  Load(3);
  ExpectEachOnce();
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkFaultTest,
                         ::testing::Values("plain", "randomized", "counter"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace bandana::testing
