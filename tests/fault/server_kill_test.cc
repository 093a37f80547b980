// The real server under load, killed again and again: every report that it acknowledged is there
// exactly once, its ledgers never go backwards, and what central models have published comes back
// with the same noise. BANDANA_KILL_CYCLES sets how often.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "bandana/client.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

// Checkpoints as often as possible, so that kills hit them too.
constexpr char kConfig[] =
    "models { name: 'plain' dimension: 2 shared {} mode: NON_PRIVATE checkpoint { events: 60 }\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'central' dimension: 2 shared {} mode: CENTRAL_REWARD refresh_interval {}\n"
    "  checkpoint { events: 60 } reporting { one_per_decision: true }\n"
    "  privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 1000000 } } }\n"
    "models { name: 'randomized' dimension: 2 shared {} mode: CENTRAL_REWARD refresh_interval {}\n"
    "  checkpoint { events: 60 } reporting { one_per_decision: true }\n"
    "  privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } }\n"
    "models { name: 'streams' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  checkpoint { events: 30 } reporting { one_per_decision: true }\n"
    "  privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100000 } } }\n"
    "models { name: 'local' dimension: 2 independent {} mode: LOCAL_REWARD\n"
    "  checkpoint { events: 30 } reporting { one_per_decision: true }\n"
    "  privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } }\n";

const char* const kRawModels[] = {"plain", "central", "randomized"};
const char* const kDeviceModels[] = {"streams", "local"};
constexpr int kBatch = 8;
const std::vector<double> kArms = {1, 0, 0, 1};

int Cycles() {
  const char* given = std::getenv("BANDANA_KILL_CYCLES");
  return given == nullptr ? 10 : std::atoi(given);
}

// A client of one raw-reward model that keeps what was acknowledged.
class RawLoad {
 public:
  RawLoad(std::string model, const std::string& target)
      : model_(std::move(model)),
        stub_(v1::Recommender::NewStub(
            grpc::CreateChannel(target, grpc::InsecureChannelCredentials()))) {}

  // Until a call fails.
  void Run(const std::atomic<bool>& stop) {
    while (!stop) {
      v1::BatchSelectRequest request;
      for (int i = 0; i < kBatch; ++i) {
        v1::SelectRequest& one = *request.add_decisions();
        one.set_model(model_);
        one.set_user("u");
        auto& features = *one.mutable_arms()->mutable_inline_arms()->mutable_features();
        features.Assign(kArms.begin(), kArms.end());
      }
      v1::BatchSelectResponse selected;
      if (!Call(&v1::Recommender::Stub::BatchSelect, request, selected)) return;
      v1::ReportRequest report;
      report.set_model(model_);
      for (const auto& result : selected.results()) {
        if (!result.has_selection()) continue;
        v1::Outcome& outcome = *report.add_outcomes();
        outcome.set_token(result.selection().token());
        outcome.set_reward(0.5);
      }
      sent_ += static_cast<std::uint64_t>(report.outcomes_size());
      v1::ReportResponse answer;
      if (!Call(&v1::Recommender::Stub::Report, report, answer)) return;
      for (int i = 0; i < answer.results_size(); ++i) {
        if (answer.results(i).code() != v1::APPLIED) ++surprises_;
        acknowledged_.push_back(report.outcomes(i).token());
      }
    }
  }

  // Each acknowledged report again, of the last cycle: how many are not known as duplicates.
  int Lost() {
    int lost = 0;
    for (std::size_t i = checked_; i < acknowledged_.size();) {
      v1::ReportRequest report;
      report.set_model(model_);
      for (; i < acknowledged_.size() && report.outcomes_size() < 64; ++i) {
        v1::Outcome& outcome = *report.add_outcomes();
        outcome.set_token(acknowledged_[i]);
        outcome.set_reward(0.5);
      }
      v1::ReportResponse answer;
      if (!Call(&v1::Recommender::Stub::Report, report, answer, /*wait=*/true)) return -1;
      for (const auto& result : answer.results()) lost += result.code() != v1::DUPLICATE;
    }
    checked_ = acknowledged_.size();
    return lost;
  }

  // The published posterior; nothing when the server does not answer.
  bool Posterior(v1::GetPosteriorResponse& posterior) {
    v1::GetPosteriorRequest request;
    request.set_model(model_);
    request.set_user("u");
    return Call(&v1::Recommender::Stub::GetPosterior, request, posterior, /*wait=*/true);
  }

  const std::string& model() const { return model_; }
  std::uint64_t acknowledged() const { return acknowledged_.size(); }
  std::uint64_t sent() const { return sent_; }
  int surprises() const { return surprises_; }

 private:
  template <typename Method, typename Request, typename Response>
  bool Call(Method method, const Request& request, Response& response, bool wait = false) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    context.set_wait_for_ready(wait);  // for the server to come back
    return ((*stub_).*method)(&context, request, &response).ok();
  }

  const std::string model_;
  const std::unique_ptr<v1::Recommender::Stub> stub_;
  std::vector<std::string> acknowledged_;  // tokens
  std::size_t checked_ = 0;
  std::uint64_t sent_ = 0;
  int surprises_ = 0;
};

class ServerKillTest : public ::testing::Test {
 protected:
  void StartServer() {
    auto server = ServerProcess::Start({.config = kConfig,
                                        .folder = folder_.path(),
                                        .listen = server_ ? server_->listen() : "127.0.0.1:0"});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    auto admin = AdminClient::Connect(server_->listen(), absl::Seconds(60));
    ASSERT_THAT(admin, IsOk());
    admin_ = *std::move(admin);
  }
  std::unique_ptr<Client> Connect(const std::string& model) {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(1);
    options.backoff_min = absl::Milliseconds(2);
    options.backoff_max = absl::Milliseconds(50);
    options.policy.delta_max = 1e-6;
    auto store = DeviceStore::Open(folder_.File("device-" + model));
    EXPECT_THAT(store, IsOk());
    auto client = Client::Connect(options, *std::move(store));
    EXPECT_THAT(client, IsOk());
    return *std::move(client);
  }

  // The sums of the ledgers may only grow.
  void CheckLedger(const std::string& model) {
    const auto ledger = admin_->GetLedger(model);
    ASSERT_THAT(ledger, IsOk());
    const double spent = ledger->user().epsilon_zcdp() + ledger->user().epsilon_pure();
    EXPECT_GE(spent, ledger_floor_[model]) << model;
    ledger_floor_[model] = spent;
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::map<std::string, double> ledger_floor_;
};

TEST_F(ServerKillTest, NothingAcknowledgedIsLostDoubledOrDrawnAgain) {
  StartServer();
  if (HasFatalFailure()) return;
  TestRng rng(3);
  std::vector<std::unique_ptr<RawLoad>> loads;
  for (const char* model : kRawModels) {
    loads.push_back(std::make_unique<RawLoad>(model, server_->listen()));
  }
  std::map<std::string, std::unique_ptr<Client>> clients;
  for (const char* model : kDeviceModels) clients[model] = Connect(model);
  std::map<std::string, std::uint64_t> reported;

  int lost = 0;
  int redrawn = 0;
  int compared = 0;
  int cycles = 0;
  for (; cycles < Cycles() && !HasFailure(); ++cycles) {
    const int cycle = cycles;
    SCOPED_TRACE(cycle);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (auto& load : loads) threads.emplace_back([&] { load->Run(stop); });
    threads.emplace_back([&] {
      for (int i = 0; !stop; ++i) {
        for (auto& [model, client] : clients) {
          const auto selection = client->Select("u" + std::to_string(i % 3), Arms::Inline(kArms));
          if (!selection.ok()) continue;
          if (client->Report(*selection, i % 2).ok()) ++reported[model];
        }
      }
    });
    absl::SleepFor(absl::Milliseconds(20 + rng.Index(60)));
    // In every third cycle the load ends before the kill, so that what was published last is known.
    const bool quiet = cycle % 3 == 2;
    std::map<std::string, v1::GetPosteriorResponse> published;
    if (quiet) {
      stop = true;
      for (std::thread& thread : threads) thread.join();
      threads.clear();
      for (auto& [model, client] : clients) EXPECT_TRUE(client->Flush(absl::Seconds(30)));
      for (auto& load : loads) {
        std::uint64_t last = 0;
        do {
          ASSERT_TRUE(load->Posterior(published[load->model()]));
          last = admin_->GetStats(load->model())->log_sequence();
        } while (admin_->GetStats(load->model())->applied_sequence() < last ||
                 published[load->model()].version() < last);
      }
    }
    server_->Kill();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    StartServer();
    if (HasFatalFailure()) return;

    for (auto& load : loads) {
      SCOPED_TRACE(load->model());
      if (quiet) {
        v1::GetPosteriorResponse again;
        do {
          ASSERT_TRUE(load->Posterior(again));
        } while (again.version() < published[load->model()].version());
        const v1::GetPosteriorResponse& before = published[load->model()];
        if (again.version() == before.version()) {
          ++compared;
          for (int i = 0; i < before.means_size(); ++i) {
            // Last bits depend on the blocks; other noise would change the first ones.
            redrawn += std::abs(again.means(i) - before.means(i)) > 1e-9;
          }
        }
      }
      const auto stats = admin_->GetStats(load->model());
      ASSERT_THAT(stats, IsOk());
      EXPECT_GE(stats->reports_applied(), load->acknowledged());
      EXPECT_LE(stats->reports_applied(), load->sent());
      const int now_lost = load->Lost();
      EXPECT_EQ(now_lost, 0);
      lost += now_lost != 0;
      EXPECT_EQ(load->surprises(), 0);
      CheckLedger(load->model());
    }
    for (const char* model : kDeviceModels) CheckLedger(model);
  }

  std::uint64_t acknowledged = 0;
  std::uint64_t doubled = 0;
  for (auto& load : loads) acknowledged += load->acknowledged();
  for (auto& [model, client] : clients) {
    SCOPED_TRACE(model);
    ASSERT_TRUE(client->Flush(absl::Seconds(120)));
    const ClientStats stats = client->Stats();
    EXPECT_EQ(stats.reports_applied + stats.reports_duplicate, reported[model]);
    EXPECT_EQ(stats.reports_rejected, 0);
    EXPECT_EQ(stats.streams_ended, 0);
    const auto server = admin_->GetStats(model);
    ASSERT_THAT(server, IsOk());
    EXPECT_EQ(server->reports_applied(), reported[model]);
    lost += server->reports_applied() < reported[model];
    doubled += server->reports_applied() > reported[model];
    acknowledged += stats.reports_applied + stats.reports_duplicate;
  }
  EXPECT_EQ(redrawn, 0);
  std::printf(
      "kill cycles: %d, acknowledged reports checked: %llu, lost: %d, doubled: %llu; "
      "published posteriors compared: %d, redrawn: %d\n",
      cycles, static_cast<unsigned long long>(acknowledged), lost,
      static_cast<unsigned long long>(doubled), compared, redrawn);
}

}  // namespace
}  // namespace bandana::testing
