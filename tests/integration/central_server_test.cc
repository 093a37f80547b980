// Modes in which the real server adds the noise: joint privacy of contexts and rewards, by a
// counter or by episodes, and one counter over all users of a graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bandana/client.h"
#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/explain.h"

namespace bandana::testing {
namespace {

// Little noise: what is learnt can be seen after a few hundred events.
constexpr char kConfig[] =
    "models { name: 'joint' dimension: 2 shared {} mode: JOINT\n"
    "  exploration { alpha: 0 } reward_stddev: 0.1 refresh_interval {}\n"
    "  privacy { epsilon: 18 delta: 1e-6 planned_events_per_user: 1000 }\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'sparse' dimension: 300 sparse { sparsity: 4 } mode: JOINT\n"
    "  feature_l2_max: 50 reward_min: -6 reward_max: 6 reward_stddev: 0.1 prior_stddev: 0.08\n"
    "  privacy { epsilon: 18 delta: 1e-6 } reporting { one_per_decision: true } }\n"
    "models { name: 'shaped' dimension: 2 mode: CENTRAL_REWARD\n"
    "  colin { graph { users: 3 rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2]\n"
    "    weights: [1, 1, 1, 0.5, 0.5] } }\n"
    "  exploration { alpha: 0 } reward_stddev: 0.1 refresh_interval {}\n"
    "  privacy { epsilon: 18 delta: 1e-6 mechanism: SHAPED_COUNTER\n"
    "    counter { horizon: 300 steps_max: 300 } }\n"
    "  reporting { one_per_decision: true } }\n";

class CentralServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer() {
    auto server = ServerProcess::Start({.config = kConfig, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
  }
  std::unique_ptr<Client> Connect(const std::string& model) {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(20);
    options.policy.require_local = false;
    options.policy.epsilon_max = 18;
    options.policy.delta_max = 1e-6;
    auto client = Client::Connect(options, DeviceStore::InMemory());
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  // Arm (1, 0) is worth 0.1, arm (0, 1) is worth 0.9.
  void Teach(Client& client, int events, int users) {
    const std::vector<double> one_arm[] = {{1, 0}, {0, 1}};
    for (int i = 0; i < events; ++i) {
      const int arm = i / users % 2;
      const auto selection = client.Select(std::to_string(i % users), Arms::Inline(one_arm[arm]));
      ASSERT_THAT(selection, IsOk());
      ASSERT_THAT(client.Report(*selection, arm == 1 ? 0.9 : 0.1), IsOk());
    }
    ASSERT_TRUE(client.Flush(absl::Seconds(60)));
  }
  // Means of the two arms, in their order, once everything is applied.
  std::vector<double> Means(Client& client, const std::string& model,
                            const std::vector<double>& arms = {1, 0, 0, 1}) {
    for (int i = 0; i < 1000; ++i) {
      const auto stats = admin_->GetStats(model);
      if (stats.ok() && stats->applied_sequence() == stats->log_sequence()) break;
      absl::SleepFor(absl::Milliseconds(10));
    }
    const auto selection = client.Select("1", Arms::Inline(arms), 2);
    EXPECT_THAT(selection, IsOk());
    std::vector<double> means(2);
    if (selection.ok()) {
      for (const RankedArm& arm : selection->arms) means[arm.position] = arm.mean;
    }
    return means;
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
};

TEST_F(CentralServerTest, JointModelsLearnAndPublishTheSameAfterAKill) {
  std::vector<double> means;
  {
    const auto client = Connect("joint");
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->model().mechanism, "counter");
    EXPECT_FALSE(client->model().local);
    Teach(*client, 400, 1);
    // Far beyond the bounds: clipped, and not told.
    const std::vector<double> far = {100, 100};
    const auto selection = client->Select("1", Arms::Inline(far));
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, -5), IsOk());
    ASSERT_TRUE(client->Flush(absl::Seconds(60)));
    means = Means(*client, "joint");
    EXPECT_NEAR(means[0], 0.1, 0.25);
    EXPECT_NEAR(means[1], 0.9, 0.25);
    EXPECT_GT(means[1], means[0]);
  }
  const auto stats = *admin_->GetStats("joint");
  EXPECT_EQ(stats.reports_applied(), 401);
  EXPECT_EQ(stats.features_clipped(), 0);
  EXPECT_EQ(stats.rewards_clipped(), 0);
  const auto ledger = *admin_->GetLedger("joint");
  ASSERT_EQ(ledger.entries_size(), 1);
  EXPECT_EQ(ledger.mode(), v1::JOINT);
  EXPECT_EQ(ledger.epsilon_per_event(), 18);
  server_->Kill();
  StartServer();
  const auto client = Connect("joint");
  ASSERT_NE(client, nullptr);
  const std::vector<double> again = Means(*client, "joint");
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(again[i], means[i], 1e-9);
}

TEST_F(CentralServerTest, SparseModelsFindWhatMattersAndPublishTheSameAfterAKill) {
  constexpr int kFeatures = 300;
  std::vector<double> arms(2 * kFeatures);  // one that shows feature 3, one that shows feature 200
  arms[3] = arms[kFeatures + 200] = 1;
  std::vector<double> means;
  {
    const auto client = Connect("sparse");
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->model().mechanism, "sparse_release");
    TestRng rng(1);
    std::vector<double> x(kFeatures);
    for (int i = 0; i < 520; ++i) {  // nine episodes end at 511
      for (double& value : x) value = rng.Normal();
      const auto selection = client->Select(std::to_string(i % 3), Arms::Inline(x));
      ASSERT_THAT(selection, IsOk());
      ASSERT_THAT(client->Report(*selection, x[3] - x[200]), IsOk());
    }
    ASSERT_TRUE(client->Flush(absl::Seconds(60)));
    means = Means(*client, "sparse", arms);
    EXPECT_GT(means[0], 0.5);
    EXPECT_LT(means[1], -0.5);
    EXPECT_THAT(client->RefreshPosterior("1").status(),
                StatusIs(absl::StatusCode::kFailedPrecondition, "model is sparse"));
    EXPECT_THAT(client->Select("1", Arms::Inline(arms), 14),
                StatusIs(absl::StatusCode::kInvalidArgument, "top_k: must be in [0, 13]"));
  }
  EXPECT_EQ(admin_->GetLedger("sparse")->entries_size(), 1);
  EXPECT_EQ(admin_->GetStats("sparse")->nodes(), 1);
  server_->Kill();
  StartServer();
  const auto client = Connect("sparse");
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(Means(*client, "sparse", arms), means);
}

TEST_F(CentralServerTest, OneCounterServesAllUsersUntilItIsExhausted) {
  std::vector<double> means;
  {
    const auto client = Connect("shaped");
    ASSERT_NE(client, nullptr);
    EXPECT_EQ(client->model().mechanism, "shaped_counter");
    Teach(*client, 300, 3);
    means = Means(*client, "shaped");
    EXPECT_NEAR(means[0], 0.1, 0.25);
    EXPECT_NEAR(means[1], 0.9, 0.25);
  }
  const auto ledger = *admin_->GetLedger("shaped");
  ASSERT_EQ(ledger.entries_size(), 1);
  EXPECT_EQ(ledger.entries(0).principal(), "all users");
  EXPECT_EQ(ledger.mechanism(), v1::SHAPED_COUNTER);
  v1::Graph graph;
  graph.set_users(3);
  for (std::uint32_t i = 0; i < 2; ++i) {
    graph.add_rows(i);
    graph.add_columns(i + 1);
    graph.add_weights(1);
  }
  EXPECT_THAT(admin_->PutGraph("shaped", graph).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  server_->Kill();
  StartServer();
  const auto client = Connect("shaped");
  ASSERT_NE(client, nullptr);
  const std::vector<double> again = Means(*client, "shaped");
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(again[i], means[i], 1e-9);
  // Exhausted: one more report is refused, and Select goes on.
  const std::vector<double> arm = {1, 0};
  const auto selection = client->Select("0", Arms::Inline(arm));
  ASSERT_THAT(selection, IsOk());
  client->Report(*selection, 0.5).IgnoreError();
  client->Flush(absl::Seconds(5));
  EXPECT_EQ(admin_->GetStats("shaped")->reports_applied(), 300);
  EXPECT_THAT(client->Select("0", Arms::Inline(arm)), IsOk());
  EXPECT_THAT(admin_->OpenEpoch("shaped"), IsOk());
}

TEST_F(CentralServerTest, OperatorsAreToldWhatRunsAndWhy) {
  const auto models = *admin_->ListModels();
  ASSERT_EQ(models.models_size(), 3);
  const std::map<std::string, std::vector<std::string>> parts = {
      {"joint", {"joint: JOINT, COUNTER, epsilon 18", "counter (epochs)"}},
      {"shaped", {"shaped: CENTRAL_REWARD, SHAPED_COUNTER, epsilon 18", "one counter over all"}},
      {"sparse",
       {"sparse: JOINT, SPARSE_RELEASE, epsilon 18", "at most 4 entries", "of  1024 ev"}}};
  for (const v1::ModelDescription& model : models.models()) {
    const auto text = Explain(model);
    ASSERT_THAT(text, IsOk());
    for (const std::string& part : parts.at(model.model().model())) {
      EXPECT_THAT(*text, HasSubstr(part));
    }
  }
}

TEST(CentralServerConfig, MistakesAreNamed) {
  const TempDir folder;
  const std::string path = folder.File("server.textproto");
  ASSERT_THAT(WriteFileDurably(path,
                               "models { name: 'a' dimension: 2 shared {} mode: JOINT\n"
                               "  privacy { epsilon: 1 } reporting { one_per_decision: true } }\n"
                               "models { name: 'b' dimension: 2 shared {} mode: CENTRAL_REWARD\n"
                               "  privacy { epsilon: 1 delta: 1e-6 mechanism: POOLED_COUNTER }\n"
                               "  reporting { one_per_decision: true } }\n",
                               0600),
              IsOk());
  const ProcessResult result = RunProgram("bandana-server", {"--config=" + path, "--check_config"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("must be above 0 for COUNTER"));
  EXPECT_THAT(result.out, HasSubstr("POOLED_COUNTER is for colin and goblin models"));
}

}  // namespace
}  // namespace bandana::testing
