// The SDK against the real server: everything is counted once, through restarts of either side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bandana/client.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/status.h"
#include "google/protobuf/text_format.h"
#include "grpcpp/grpcpp.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kConfig[] =
    "models { name: 'raw' dimension: 2 independent {} mode: NON_PRIVATE }\n"
    "models { name: 'local' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  privacy { epsilon: 2 } reporting { one_per_decision: true } }\n"
    "models { name: 'window' dimension: 2 shared {} mode: LOCAL_REWARD privacy { epsilon: 2 }\n"
    "  reporting { reward_window { duration { nanos: 200000000 } default_reward: 0.5 } } }\n";

const std::vector<double> kArms = {1, 0, 0, 1};

class ClientServerTest : public ::testing::Test {
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
  std::unique_ptr<Client> MustConnect(const std::string& model) {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(20);
    if (model == "raw") options.policy = PrivacyPolicy::AcceptAnything();
    if (store_ == nullptr) {
      auto store = DeviceStore::Open(device_folder_.File("device.db"));
      EXPECT_THAT(store, IsOk());
      store_ = *std::move(store);
    }
    auto client = Client::Connect(options, store_);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  v1::GetStatsResponse Stats(const std::string& model) {
    const auto stats = admin_->GetStats(model);
    EXPECT_THAT(stats, IsOk());
    return stats.value_or(v1::GetStatsResponse());
  }

  const TempDir server_folder_;
  const TempDir device_folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::shared_ptr<DeviceStore> store_;
};

TEST_F(ClientServerTest, EveryReportIsAppliedOnce) {
  for (const std::string model : {"raw", "local"}) {
    const auto client = MustConnect(model);
    ASSERT_NE(client, nullptr);
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, user = "user-" + std::to_string(thread)] {
        for (int i = 0; i < 25; ++i) {
          const auto selection = client->Select(user, Arms::Inline(kArms));
          failures += !selection.ok() || !client->Report(*selection, i % 2).ok();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(failures, 0);
    ASSERT_TRUE(client->Flush(absl::Seconds(30)));
    EXPECT_EQ(client->Stats().reports_applied, 200);
    EXPECT_EQ(Stats(model).reports_applied(), 200);
    EXPECT_EQ(Stats(model).reports_duplicate(), 0);
  }
}

// An operator puts a model that wants raw rewards under the name of a central one.
TEST_F(ClientServerTest, AModelOfAnotherPolicyReadsNothing) {
  const auto make = [&](const std::string& mode) {
    v1::ModelConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "name: 'becomes' dimension: 2 shared {} reporting { one_per_decision: true } mode: " + mode,
        &config));
    ASSERT_THAT(admin_->CreateModel(config), IsOk());
  };
  make("CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER }");
  ClientOptions options;
  options.target = server_->listen();
  options.model = "becomes";
  options.policy = {.require_local = false, .epsilon_max = 1, .delta_max = 1e-6};
  const auto reporting = Client::Connect(options, DeviceStore::InMemory());
  const auto selecting = Client::Connect(options, DeviceStore::InMemory());
  ASSERT_THAT(reporting, IsOk());
  ASSERT_THAT(selecting, IsOk());
  const auto selection = (*reporting)->Select("u", Arms::Inline(kArms));
  ASSERT_THAT(selection, IsOk());
  ASSERT_THAT(admin_->DeleteModel("becomes"), IsOk());
  make("NON_PRIVATE");
  ASSERT_THAT((*reporting)->Report(*selection, 0.875), IsOk());
  EXPECT_TRUE((*reporting)->Flush(absl::Seconds(30)));
  EXPECT_EQ((*reporting)->Stats().reports_rejected, 1);
  EXPECT_THAT((*selecting)->Select("u", Arms::Inline(kArms)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  // A report that was looked at would be counted, be it refused.
  const v1::GetStatsResponse stats = Stats("becomes");
  EXPECT_EQ(stats.reports_applied(), 0);
  EXPECT_TRUE(stats.reports_rejected().empty()) << stats.DebugString();
}

TEST_F(ClientServerTest, WindowsCloseWithAReportOrTheDefault) {
  const auto client = MustConnect("window");
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 10; ++i) {
    const auto selection = client->Select("u", Arms::Inline(kArms));
    ASSERT_THAT(selection, IsOk());
    if (i % 2) {
      ASSERT_THAT(client->Report(*selection, 1.0), IsOk());
    }
  }
  for (int i = 0; i < 1000 && client->Stats().reports_applied < 10; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(client->Stats().reports_applied, 10);
  EXPECT_LE(client->Stats().reports_defaulted, 10);
  EXPECT_GE(client->Stats().reports_defaulted,
            5);  // a slow machine may close one before its report
  EXPECT_EQ(Stats("window").reports_applied(), 10);
}

TEST_F(ClientServerTest, EachSlotIsAnEventAndADeferredDecisionFromItsActivationOn) {
  const auto client = MustConnect("window");
  ASSERT_NE(client, nullptr);
  const auto slots = client->SelectSlots("u", Arms::Inline(kArms), 2);
  ASSERT_THAT(slots, IsOk());
  ASSERT_EQ(slots->size(), 2);
  EXPECT_NE((*slots)[0].arms[0].position, (*slots)[1].arms[0].position);
  ASSERT_THAT(client->Report((*slots)[1], 1.0), IsOk());
  EXPECT_THAT(client->SelectSlots("u", Arms::Inline(kArms), 3),
              StatusIs(absl::StatusCode::kInvalidArgument, "slots: must be at most"));
  const auto shown = client->SelectDeferred("u", Arms::Inline(kArms));
  ASSERT_THAT(shown, IsOk());
  ASSERT_THAT(client->SelectDeferred("u", Arms::Inline(kArms)), IsOk());  // never shown
  ASSERT_THAT(client->Activate(*shown), IsOk());
  for (int i = 0; i < 1000 && client->Stats().reports_applied < 3; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(client->Stats().reports_applied, 3);
  EXPECT_EQ(client->Spent("u")->events, 3);
  EXPECT_EQ(Stats("window").reports_applied(), 3);
}

absl::Status StatusOf(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

// Asks the server as a backend does, and hands on what it was answered.
absl::StatusOr<BackendAnswer> AskAsABackend(const std::string& target, const std::string& model) {
  const auto stub =
      v1::Recommender::NewStub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  v1::GetModelRequest of;
  of.set_model(model);
  v1::GetModelResponse found;
  grpc::ClientContext getting;
  BANDANA_RETURN_IF_ERROR(StatusOf(stub->GetModel(&getting, of, &found)));
  v1::SelectRequest request;
  request.set_model(model);
  request.set_user("u");
  request.set_top_k(2);
  request.set_shown(1);
  request.set_policy_hash(found.policy_hash());
  for (const double value : kArms)
    request.mutable_arms()->mutable_inline_arms()->add_features(value);
  v1::SelectResponse response;
  grpc::ClientContext selecting;
  BANDANA_RETURN_IF_ERROR(StatusOf(stub->Select(&selecting, request, &response)));
  BackendAnswer answer = {.user = "u",
                          .model = model,
                          .policy_hash = request.policy_hash(),
                          .decided = absl::Now(),
                          .shown = 1,
                          .token = response.token(),
                          .posterior_version = response.posterior_version()};
  for (int i = 0; i < response.positions_size(); ++i) {
    answer.arms.push_back(
        {.position = static_cast<int>(response.positions(i)), .score = response.scores(i)});
  }
  return answer;
}

TEST_F(ClientServerTest, ADecisionThatABackendFetchedIsAdoptedOnce) {
  const auto client = MustConnect("window");
  ASSERT_NE(client, nullptr);
  const auto answer = AskAsABackend(server_->listen(), "window");
  ASSERT_THAT(answer, IsOk());
  BackendAnswer of_another = *answer;
  of_another.user = "v";
  EXPECT_THAT(client->Adopt("u", of_another),
              StatusIs(absl::StatusCode::kInvalidArgument, "answer.user is another user"));
  EXPECT_EQ(client->Spent("u")->events, 0);
  const auto shown = client->Adopt("u", *answer);
  ASSERT_THAT(shown, IsOk());
  EXPECT_EQ(shown->arms[0].position, answer->arms[0].position);
  EXPECT_EQ(client->Spent("u")->events, 1);
  EXPECT_THAT(client->Adopt("u", *answer),
              StatusIs(absl::StatusCode::kFailedPrecondition, "answer.token was adopted before"));
  ASSERT_THAT(client->Report(*shown, 1.0), IsOk());
  for (int i = 0; i < 1000 && client->Stats().reports_applied < 1; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(client->Stats().reports_defaulted, 0);
  EXPECT_EQ(Stats("window").reports_applied(), 1);
}

TEST_F(ClientServerTest, DeviceRanksAsTheServerDoes) {
  const auto client = MustConnect("raw");
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 30; ++i) {
    const auto selection = client->Select("u", Arms::Inline(kArms));
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, selection->arms[0].position == 0 ? 0.9 : 0.2), IsOk());
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  for (int i = 0; i < 1000 && Stats("raw").posterior_version() < Stats("raw").log_sequence(); ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(true));
  EXPECT_THAT(client->RefreshPosterior("u"), IsOkAndHolds(false));
  const std::vector<double> arms = {0.6, 0.8, 0.1, 0.2, 3, -4, 0.5, 0.5};
  const auto there = client->Select("u", Arms::Inline(arms), 4);
  const auto here = client->SelectOnDevice("u", Arms::Inline(arms), 4);
  ASSERT_THAT(there, IsOk());
  ASSERT_THAT(here, IsOk());
  EXPECT_EQ(here->posterior_version, there->posterior_version);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(here->arms[i].position, there->arms[i].position);
    EXPECT_NEAR(here->arms[i].score, there->arms[i].score, 1e-12);
    EXPECT_NEAR(here->arms[i].width, there->arms[i].width, 1e-12);
    EXPECT_EQ(here->arms[i].propensity, there->arms[i].propensity);
  }
  ASSERT_THAT(client->Report(*here, 0.5, 2), IsOk());
  ASSERT_THAT(client->Report(*there, 0.5, 3), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 32);
}

TEST_F(ClientServerTest, KilledServerLosesNoReport) {
  const auto client = MustConnect("local");
  ASSERT_NE(client, nullptr);
  std::atomic<bool> stop{false};
  std::atomic<int> queued{0};
  std::thread load([&] {
    while (!stop) {
      const auto selection = client->Select("u", Arms::Inline(kArms));
      if (selection.ok() && client->Report(*selection, 1.0).ok()) ++queued;
    }
  });
  for (int round = 0; round < 3; ++round) {
    const int goal = queued + 40;
    while (queued < goal) absl::SleepFor(absl::Milliseconds(1));
    server_->Kill();
    StartServer();
  }
  const int goal = queued + 10;
  while (queued < goal) absl::SleepFor(absl::Milliseconds(1));
  stop = true;
  load.join();
  ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  const ClientStats stats = client->Stats();
  EXPECT_EQ(stats.reports_applied + stats.reports_duplicate, queued);
  EXPECT_EQ(Stats("local").reports_applied(), queued);
}

TEST_F(ClientServerTest, ModelMadeAnewUnderAWeakerPolicyStopsTheClient) {
  v1::ModelConfig config;
  const std::string text =
      "name: 'extra' dimension: 2 shared {} mode: LOCAL_REWARD reporting { one_per_decision: true "
      "} ";
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(text + "privacy { epsilon: 1 }", &config));
  ASSERT_THAT(admin_->CreateModel(config), IsOk());
  const auto client = MustConnect("extra");
  ASSERT_NE(client, nullptr);
  const auto selection = client->Select("u", Arms::Inline(kArms));
  ASSERT_THAT(selection, IsOk());
  ASSERT_THAT(admin_->DeleteModel("extra"), IsOk());
  config.mutable_privacy()->set_epsilon(8);
  ASSERT_THAT(admin_->CreateModel(config), IsOk());
  ASSERT_THAT(client->Report(*selection, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_rejected, 1);
  absl::Status refusal;
  for (int i = 0; i < 1000 && refusal.ok(); ++i) {
    refusal = client->Select("u", Arms::Inline(kArms)).status();
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_THAT(refusal, StatusIs(absl::StatusCode::kFailedPrecondition, "epsilon_max is 2"));
  EXPECT_EQ(Stats("extra").reports_applied(), 0);
}

TEST_F(ClientServerTest, ServersErrorsReachTheCaller) {
  ClientOptions options;
  options.target = server_->listen();
  options.model = "nobody";
  EXPECT_THAT(Client::Connect(options, DeviceStore::InMemory()),
              StatusIs(absl::StatusCode::kNotFound));
  options.model = "raw";
  EXPECT_THAT(Client::Connect(options, DeviceStore::InMemory()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "require_local"));
  const auto client = MustConnect("raw");
  ASSERT_NE(client, nullptr);
  const std::vector<std::uint32_t> ids = {4711};
  EXPECT_THAT(client->Select("u", Arms::Catalogue(ids)), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ClientServerTest, RanksTheCatalogue) {
  std::vector<v1::Arm> arms(2);
  arms[0].set_id(7);
  arms[1].set_id(9);
  for (auto& arm : arms) {
    arm.add_features(arm.id() == 7);
    arm.add_features(arm.id() == 9);
    arm.add_tags(arm.id() == 9 ? "news" : "sport");
  }
  ASSERT_THAT(admin_->PutArms("raw", arms), IsOk());
  const auto client = MustConnect("raw");
  ASSERT_NE(client, nullptr);
  const std::vector<std::uint32_t> ids = {9, 7};
  const auto by_id = client->Select("u", Arms::Catalogue(ids), 2);
  ASSERT_THAT(by_id, IsOk());
  ASSERT_EQ(by_id->arms.size(), 2);
  EXPECT_EQ(by_id->arms[0].arm_id, ids[by_id->arms[0].position]);
  const std::vector<std::string> tags = {"news"};
  const auto by_tag = client->Select("u", Arms::Query(tags));
  ASSERT_THAT(by_tag, IsOk());
  EXPECT_EQ(by_tag->arms[0].arm_id, 9);
  ASSERT_THAT(client->Report(*by_tag, 1.0), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 1);
}

}  // namespace
}  // namespace bandana::testing
