// Three bandana-servers on one PostgreSQL with a synchronous standby, under load, while owners are
// killed, frozen and stopped, connections are cut around their commits, and the database fails
// over: what was acknowledged is counted, once; no replica shows another history; and a selection
// is answered as long as one server lives. BANDANA_CYCLES: how often (5).
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/http_request.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr int kServers = 3;
constexpr int kReporters = 3;
constexpr char kLastOfCentral[] =
    "SELECT l.last_sequence FROM bandana.logs l JOIN bandana.states s ON s.log = l.id"
    " WHERE s.name = 'central'";

int Cycles() {
  const char* const given = std::getenv("BANDANA_CYCLES");
  return given == nullptr ? 5 : std::atoi(given);
}

std::string PortOf(const std::string& address) { return address.substr(address.find(':') + 1); }

// A server that may be replaced by another process while others call it.
struct Member {
  struct Stubs {
    std::unique_ptr<v1::Recommender::Stub> recommender;
    std::unique_ptr<v1::Admin::Stub> admin;
  };
  TempDir folder;
  std::string name;
  std::unique_ptr<ServerProcess> process;
  std::mutex mutex;
  std::shared_ptr<Stubs> stubs;  // null: it is down

  std::shared_ptr<Stubs> Get() {
    const std::lock_guard lock(mutex);
    return stubs;
  }
  void Put(std::shared_ptr<Stubs> next) {
    const std::lock_guard lock(mutex);
    stubs = std::move(next);
  }
};

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    ASSERT_THAT(WriteFileDurably(keys_.File("key"), std::string(64, '7'), 0600), IsOk());
    primary_ = std::make_unique<PostgresServer>();
    standby_ = primary_->MakeStandby();
    for (PostgresServer* const server : {primary_.get(), standby_.get()}) {
      proxies_.push_back(FaultProxy::Start(server->address()));
    }
    for (int i = 0; i < kServers; ++i) {
      members_[i] = std::make_unique<Member>();
      members_[i]->name = absl::StrCat("s", i);
      StartMember(*members_[i]);
    }
  }

  std::string Connection() const {
    return absl::StrCat("host=127.0.0.1,127.0.0.1 port=", PortOf(proxies_[0]->address()), ",",
                        PortOf(proxies_[1]->address()),
                        " dbname=bandana user=bandana target_session_attrs=read-write");
  }
  void StartMember(Member& member) {
    const std::string config = absl::StrCat(
        "log { postgresql { connection: '", Connection(), "' key_file: '", keys_.File("key"),
        "' noise_key_file: '", keys_.File("key"), "' lease { seconds: 2 } server: '", member.name,
        "' } } peers { listen: '127.0.0.1:0' } "
        "models { name: 'plain' dimension: 2 mode: NON_PRIVATE shared {} refresh_interval {}"
        "  reporting { one_per_decision: true } checkpoint { events: 500 } } "
        "models { name: 'central' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
        "  privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER }"
        "  reporting { one_per_decision: true } checkpoint { events: 500 } }");
    auto started = ServerProcess::Start({.config = config, .folder = member.folder.path()});
    ASSERT_THAT(started, IsOk());
    member.process = *std::move(started);
    auto stubs = std::make_shared<Member::Stubs>();
    const auto channel =
        grpc::CreateChannel(member.process->listen(), grpc::InsecureChannelCredentials());
    stubs->recommender = v1::Recommender::NewStub(channel);
    stubs->admin = v1::Admin::NewStub(channel);
    member.Put(std::move(stubs));
  }

  static void SetDeadline(grpc::ClientContext& context, int milliseconds) {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(milliseconds));
  }
  static v1::SelectRequest RequestFor(const std::string& model) {
    v1::SelectRequest request;
    request.set_model(model);
    request.set_user("u");
    for (const double x : {1.0, 0.0, 0.0, 1.0}) {
      request.mutable_arms()->mutable_inline_arms()->add_features(x);
    }
    return request;
  }
  // By any server, as a load balancer with retries does it. False when none answers.
  bool SelectSurely(const std::string& model, TestRng& rng, v1::SelectResponse& response) {
    for (int tried = 0; tried < 4 * kServers; ++tried) {
      const auto stubs = members_[rng.Index(kServers)]->Get();
      if (stubs == nullptr) continue;
      grpc::ClientContext context;
      SetDeadline(context, 1000);
      if (stubs->recommender->Select(&context, RequestFor(model), &response).ok()) return true;
    }
    return false;
  }
  // As a client does it: until there is an answer.
  v1::OutcomeCode ReportSurely(const std::string& model, const std::string& token, TestRng& rng) {
    v1::ReportRequest request;
    request.set_model(model);
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_token(token);
    outcome.set_reward(1);
    for (int tried = 0; tried < 3000; ++tried) {
      const auto stubs = members_[rng.Index(kServers)]->Get();
      grpc::ClientContext context;
      SetDeadline(context, 3000);
      v1::ReportResponse response;
      if (stubs != nullptr && stubs->recommender->Report(&context, request, &response).ok()) {
        return response.results(0).code();
      }
      absl::SleepFor(absl::Milliseconds(20));
    }
    return v1::OUTCOME_CODE_UNSPECIFIED;
  }
  // The member that owns the model, by its own word; -1: none does.
  int OwnerOf(const std::string& model) {
    const std::string owned = absl::StrCat("bandana_model_owned{model=\"", model, "\"} 1");
    for (int i = 0; i < kServers; ++i) {
      if (members_[i]->Get() == nullptr) continue;
      const HttpResult page = HttpRequest(members_[i]->process->http_listen(), "/metrics");
      if (page.body.find(owned) != std::string::npos) return i;
    }
    return -1;
  }
  // The owner's statistics, whichever server is asked: calls are UNAVAILABLE while a model is
  // handed over.
  v1::GetStatsResponse StatsOfOwner(const std::string& model, TestRng& rng) {
    v1::GetStatsRequest request;
    request.set_model(model);
    v1::GetStatsResponse stats;
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    bool good = false;
    for (; !good && absl::Now() < give_up; absl::SleepFor(absl::Milliseconds(50))) {
      const auto stubs = members_[rng.Index(kServers)]->Get();
      grpc::ClientContext context;
      SetDeadline(context, 3000);
      good = stubs != nullptr && stubs->admin->GetStats(&context, request, &stats).ok() &&
             !stats.has_follower();
    }
    EXPECT_TRUE(good) << model;
    return stats;
  }
  // Time until a report is taken again.
  absl::Duration AwaitReport(const std::string& model, TestRng& rng) {
    const absl::Time start = absl::Now();
    v1::SelectResponse selected;
    EXPECT_TRUE(SelectSurely(model, rng, selected));
    EXPECT_EQ(ReportSurely(model, selected.token(), rng), v1::APPLIED);
    ++acknowledged_[model];
    return absl::Now() - start;
  }
  // Compares what every replica shows of the central model with what any has shown of the same
  // version before. The versions shown now.
  std::vector<std::uint64_t> SeeReleases() {
    std::vector<std::uint64_t> versions;
    for (const auto& member : members_) {
      const auto stubs = member->Get();
      if (stubs == nullptr) continue;
      grpc::ClientContext context;
      SetDeadline(context, 1000);
      v1::GetPosteriorRequest request;
      request.set_model("central");
      v1::GetPosteriorResponse response;
      if (!stubs->recommender->GetPosterior(&context, request, &response).ok()) continue;
      versions.push_back(response.version());
      const std::vector<double> means(response.means().begin(), response.means().end());
      const std::lock_guard lock(seen_mutex_);
      const auto [seen, fresh] = seen_.emplace(response.version(), means);
      for (std::size_t i = 0; i < means.size(); ++i) {
        if (std::abs(means[i] - seen->second[i]) > 1e-9) ++histories_;
      }
    }
    return versions;
  }
  // Whether all living members show all that the central model's log has before long.
  bool ShowTheWholeLog() {
    for (const absl::Time give_up = absl::Now() + absl::Seconds(30); absl::Now() < give_up;) {
      const std::vector<std::uint64_t> versions = SeeReleases();
      const auto living = std::ranges::count_if(
          members_, [](const auto& member) { return member->Get() != nullptr; });
      const auto last = static_cast<std::uint64_t>(primary_->Number(kLastOfCentral));
      if (std::ssize(versions) == living &&
          std::ranges::all_of(versions, [&](std::uint64_t version) { return version == last; })) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }
  // Whether no server has ended by itself; says which has.
  bool AllRun() {
    for (const auto& member : members_) {
      if (member->process->process().Running()) continue;
      ADD_FAILURE() << member->name << " ended by itself:\n" << member->process->process().err();
      return false;
    }
    return true;
  }
  // Until reports of both models are taken again.
  void TakeOver(const char* after, TestRng& rng) {
    const double seconds =
        absl::ToDoubleSeconds(std::max(AwaitReport("plain", rng), AwaitReport("central", rng)));
    takeovers_.push_back(seconds);
    std::fprintf(stderr, "owner %s: %.2f s\n", after, seconds);
    if (seconds < 5) return;
    for (const auto& member : members_) {
      const std::string said = member->process->process().err();
      std::fprintf(stderr, "%s: ...%s\n", member->name.c_str(),
                   said.substr(said.size() - std::min<std::size_t>(said.size(), 4000)).c_str());
    }
  }
  // The primary dies, the standby takes its place, and another one follows at the dead one's port.
  void FailOver() {
    const int port = primary_->port();
    primary_->Kill();
    standby_->Promote();
    std::swap(primary_, standby_);
    std::swap(proxies_[0], proxies_[1]);
    standby_.reset();
    standby_ = primary_->MakeStandby(port);
  }

  TempDir keys_;
  std::unique_ptr<PostgresServer> primary_, standby_;
  std::vector<std::unique_ptr<FaultProxy>> proxies_;
  std::array<std::unique_ptr<Member>, kServers> members_;
  std::map<std::string, std::atomic<std::uint64_t>> acknowledged_;
  std::mutex seen_mutex_;
  std::map<std::uint64_t, std::vector<double>> seen_;  // of the central model, by version
  std::vector<double> takeovers_;                      // seconds
  std::atomic<int> histories_{0};                      // a version was shown with other means
};

// The primary dies between its own commit and the standby's answer, and comes back with an entry
// that the standby lacks. A release of that entry would be of a history that the failover ends.
TEST_F(ClusterTest, ShowsNothingThatTheStandbyLacks) {
  constexpr int kReports = 3;
  TestRng rng(11);
  for (int i = 0; i < kReports; ++i) AwaitReport("central", rng);
  ASSERT_TRUE(ShowTheWholeLog());
  const std::uint64_t shown = SeeReleases().at(0);
  v1::SelectResponse selected;
  ASSERT_TRUE(SelectSurely("central", rng, selected));
  const int found = OwnerOf("central");
  ASSERT_GE(found, 0);
  Member& owner = *members_[static_cast<std::size_t>(found)];

  const std::int64_t last = primary_->Number(kLastOfCentral);
  standby_->Kill();
  {
    grpc::ClientContext context;
    SetDeadline(context, 1500);
    v1::ReportRequest request;
    request.set_model("central");
    v1::Outcome& outcome = *request.add_outcomes();
    outcome.set_token(selected.token());
    outcome.set_reward(1);
    v1::ReportResponse response;
    EXPECT_FALSE(owner.Get()->recommender->Report(&context, request, &response).ok());
  }
  EXPECT_THAT(SeeReleases(), ::testing::Each(shown));  // also of the owner
  owner.Put(nullptr);
  owner.process->Kill();
  primary_->Kill();
  primary_->Start();
  ASSERT_GT(primary_->Number(kLastOfCentral), last);

  // Whoever looks sees the entry, and may neither show it nor own the model.
  for (const absl::Time end = absl::Now() + absl::Seconds(4); absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(50))) {
    const std::vector<std::uint64_t> versions = SeeReleases();
    ASSERT_EQ(std::ssize(versions), kServers - 1);
    ASSERT_THAT(versions, ::testing::Each(shown));
    ASSERT_EQ(OwnerOf("central"), -1);
  }

  primary_->Kill();
  standby_->Start();
  standby_->Promote();
  std::swap(primary_, standby_);
  std::swap(proxies_[0], proxies_[1]);
  // Nobody else knows what it has shown of a database that is another one now.
  StartMember(owner);
  EXPECT_EQ(ReportSurely("central", selected.token(), rng), v1::APPLIED);
  EXPECT_TRUE(ShowTheWholeLog());
  EXPECT_THAT(SeeReleases(), ::testing::Each(::testing::Gt(shown)));
  EXPECT_EQ(histories_, 0);
  EXPECT_EQ(StatsOfOwner("central", rng).reports_applied(), kReports + 1u);
}

TEST_F(ClusterTest, ForgetsServersThatAreLongGone) {
  primary_->Sql(
      "INSERT INTO bandana.servers VALUES ('192.0.2.1:1', clock_timestamp() - interval '25 hours'),"
      " ('192.0.2.2:1', clock_timestamp() - interval '23 hours')");
  members_[0]->Put(nullptr);
  members_[0]->process->Kill();
  StartMember(*members_[0]);
  EXPECT_EQ(primary_->Count("bandana.servers WHERE address LIKE '192.0.2.%'"), 1);
}

TEST_F(ClusterTest, LosesAndDoublesNothing) {
  const std::vector<std::string> models = {"plain", "central"};
  for (const std::string& model : models) acknowledged_[model] = 0;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> selections{0}, failed_selections{0}, unanswered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kReporters; ++t) {
    threads.emplace_back([&, t] {
      TestRng rng(100 + static_cast<std::uint64_t>(t));
      while (!stop) {
        const std::string& model = models[rng.Index(models.size())];
        v1::SelectResponse selected;
        ++selections;
        if (!SelectSurely(model, rng, selected)) {
          ++failed_selections;
          continue;
        }
        const v1::OutcomeCode code = ReportSurely(model, selected.token(), rng);
        if (code == v1::APPLIED || code == v1::DUPLICATE) {
          ++acknowledged_[model];
        } else {
          ++unanswered;
        }
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      SeeReleases();
      absl::SleepFor(absl::Milliseconds(50));
    }
  });
  TestRng rng(7);
  using Mode = FaultProxy::Mode;
  for (int cycle = 0; cycle < Cycles(); ++cycle) {
    absl::SleepFor(absl::Milliseconds(300 + rng.Index(500)));
    const int found = OwnerOf(models[rng.Index(2)]);
    Member& owner = *members_[static_cast<std::size_t>(std::max(0, found))];
    switch (cycle % 5) {
      case 0: {  // killed
        owner.Put(nullptr);
        owner.process->Kill();
        TakeOver("killed", rng);
        StartMember(owner);
        break;
      }
      case 1: {  // frozen, and wakes
        owner.process->process().Signal(SIGSTOP);
        const auto stubs = owner.Get();
        owner.Put(nullptr);
        TakeOver("frozen", rng);
        owner.process->process().Signal(SIGCONT);
        owner.Put(stubs);
        break;
      }
      case 2: {  // answers of the database are lost, of commits too
        for (const Mode mode : {Mode::kDeaf, Mode::kPass}) {
          proxies_[0]->Set(mode);
          absl::SleepFor(absl::Milliseconds(100 + rng.Index(1500)));
          proxies_[0]->Cut();
        }
        break;
      }
      case 3: {  // stopped
        EXPECT_EQ(owner.process->Terminate(), 0);
        owner.Put(nullptr);
        TakeOver("stopped", rng);
        StartMember(owner);
        break;
      }
      case 4: {  // the database fails over
        FailOver();
        break;
      }
    }
    if (!AllRun()) break;  // the threads are joined below
    std::fprintf(stderr, "cycle %d of %d: acknowledged %d and %d\n", cycle + 1, Cycles(),
                 static_cast<int>(acknowledged_["plain"]),
                 static_cast<int>(acknowledged_["central"]));
  }
  // The cluster is whole again: everybody can be reached, and there is an owner.
  AwaitReport("plain", rng);
  AwaitReport("central", rng);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& model : models) {
    const v1::GetStatsResponse stats = StatsOfOwner(model, rng);
    std::printf("%s: acknowledged %d, in the log %d\n", model.c_str(),
                static_cast<int>(acknowledged_[model]), static_cast<int>(stats.reports_applied()));
    EXPECT_EQ(stats.reports_applied(), acknowledged_[model]) << model;
  }
  std::ranges::sort(takeovers_);
  std::printf(
      "cycles %d, selections %d, failed %d, unanswered reports %d, versions seen %d, second "
      "histories %d\n",
      Cycles(), static_cast<int>(selections), static_cast<int>(failed_selections),
      static_cast<int>(unanswered), static_cast<int>(seen_.size()), static_cast<int>(histories_));
  if (!takeovers_.empty()) {
    std::printf("takeovers %d: p50 %.2f s, p99 %.2f s\n", static_cast<int>(takeovers_.size()),
                takeovers_[takeovers_.size() / 2], takeovers_[takeovers_.size() * 99 / 100]);
  }
  EXPECT_EQ(failed_selections, 0u);
  EXPECT_EQ(unanswered, 0u);
  EXPECT_EQ(histories_, 0);
  if (HasFailure()) {
    for (const auto& member : members_) {
      std::fprintf(stderr, "%s:\n%s\n", member->name.c_str(),
                   member->process->process().err().c_str());
    }
  }
  EXPECT_GT(acknowledged_["plain"], 20u);
  EXPECT_GT(acknowledged_["central"], 20u);
}

}  // namespace
}  // namespace bandana::testing
