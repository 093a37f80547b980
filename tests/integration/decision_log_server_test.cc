// The decision log of a real server: lines as bandana-ctl exports them, through restarts, deletions
// and changes of the configuration, and after kills under load. BANDANA_KILL_CYCLES sets how often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "google/protobuf/text_format.h"
#include "server/decisions/decision_files.h"
#include "tests/support/decision_caller.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/decisions.h"

namespace bandana::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class DecisionLogServerTest : public ::testing::Test {
 protected:
  void Start(const std::string& config) {
    config_ = config;
    Restart();
  }
  void Restart() {
    auto server = ServerProcess::Start({.config = config_,
                                        .folder = folder_.path(),
                                        .listen = server_ ? server_->listen() : "127.0.0.1:0"});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    caller_ = std::make_unique<Caller>(server_->listen());
  }
  static std::string Model(const std::string& name, const std::string& more) {
    return "models { name: '" + name + "' dimension: 2 shared {} " + more + " }\n";
  }
  // The lines of the model as they are exported.
  std::vector<LoggedDecision> Export(const std::string& model, DecisionsAsked asked = {}) {
    asked.model = model;
    const std::string path = folder_.File("log.jsonl");
    AdminClient* const servers[] = {admin_.get()};
    const auto written = ExportDecisions(servers, asked, path);
    EXPECT_THAT(written.status(), IsOk());
    text_ = FileAt(path);
    return LinesOf(text_);
  }
  // Until all that was reported is applied.
  void WaitApplied(const std::string& model) {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      const auto stats = admin_->GetStats(model);
      if (stats.ok() && stats->applied_sequence() == stats->log_sequence()) return;
      absl::SleepFor(absl::Milliseconds(5));
    }
    FAIL() << "not applied";
  }
  std::string Folder(const std::string& model) {
    return folder_.path() + "/data/models/" + model + "/" + std::string(server::kDecisionFolder);
  }

  const TempDir folder_;
  std::string config_;
  std::string text_;  // of the last export
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<Caller> caller_;
};

constexpr char kMix[] = "mode: NON_PRIVATE policy { uniform_mix { uniform_share: 0.3 } } ";

TEST_F(DecisionLogServerTest, EachLineHasTheRewardThatWasLearnt) {
  Start(Model("m", std::string(kMix) + "decision_log {}"));
  std::vector<std::string> tokens;
  for (int k = 0; k < 20; ++k) {
    const auto answer = caller_->Select(Caller::RequestOf("m", "ann", k));
    ASSERT_TRUE(answer);
    tokens.push_back(answer->token());
  }
  for (int k = 0; k < 5; ++k) ASSERT_TRUE(caller_->Report("m", tokens[k], FeatureOf(k)));
  ASSERT_EQ(server_->Terminate(), 0);
  Restart();
  for (int k = 5; k < 10; ++k) ASSERT_TRUE(caller_->Report("m", tokens[k], FeatureOf(k)));
  WaitApplied("m");
  const std::vector<LoggedDecision> lines = Export("m");
  ASSERT_THAT(lines, SizeIs(20));
  for (int k = 0; k < 20; ++k) {
    const LoggedSlot& slot = lines[k].slots.front();
    EXPECT_EQ(NumberOf(slot.x[0]), k);
    EXPECT_EQ(slot.state == RewardState::kKnown, k < 10);
    EXPECT_EQ(slot.reward, k < 10 ? FeatureOf(k) : 0);
    ASSERT_THAT(slot.p, SizeIs(3));
    ASSERT_THAT(slot.q, SizeIs(3));
    double sum = 0;
    for (const double p : slot.p) {
      EXPECT_TRUE(std::abs(p - 0.1) < 1e-9 || std::abs(p - 0.8) < 1e-9) << p;
      sum += p;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_EQ(slot.offered, 3u);
    EXPECT_EQ(lines[k].user, "");
  }
  EXPECT_THAT(text_, Not(HasSubstr("ann")));
  const auto stats = admin_->GetStats("m");
  EXPECT_EQ(stats->decision_log().lines(), 20u);
  EXPECT_EQ(stats->decision_log().lost(), 0u);
  EXPECT_GT(stats->decision_log().bytes(), 20u * 100);
}

TEST_F(DecisionLogServerTest, WindowsSlotsRanksAndDeferralsAreKnownAsSuch) {
  Start(Model("m", std::string(kMix) +
                       "reporting { reward_window { duration { nanos: 300000000 } default_reward: "
                       "0.25 } } decision_log { contexts: false }"));
  v1::SelectRequest request = Caller::RequestOf("m", "ann", 1);
  ASSERT_TRUE(caller_->Select(request));  // unreported: the default
  request.set_slots(2);
  const auto list = caller_->Select(request);
  ASSERT_TRUE(list);
  ASSERT_TRUE(caller_->Report("m", list->slot_tokens(1), 1));
  request.clear_slots();
  request.set_top_k(3);
  const auto ranked = caller_->Select(request);
  ASSERT_TRUE(caller_->Report("m", ranked->token(), 0.5, /*shown=*/2));
  request.clear_top_k();
  request.set_deferred(true);
  const auto never = caller_->Select(request);
  const auto deferred = caller_->Select(request);
  ASSERT_TRUE(never && deferred);
  ASSERT_TRUE(caller_->Activate("m", deferred->token()));
  request.set_deferred(false);
  request.set_learn(false);
  ASSERT_TRUE(caller_->Select(request));  // no token, no line
  std::vector<LoggedDecision> lines;
  for (int attempt = 0; attempt < 400; ++attempt) {
    lines = Export("m");
    bool closed = lines.size() == 4;
    for (const LoggedDecision& line : lines) {
      for (const LoggedSlot& slot : line.slots) closed &= slot.state == RewardState::kKnown;
    }
    if (closed) break;
    absl::SleepFor(absl::Milliseconds(10));
  }
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0].slots[0].reward, 0.25);
  EXPECT_THAT(lines[0].slots[0].x, IsEmpty());
  ASSERT_THAT(lines[1].slots, SizeIs(2));
  EXPECT_EQ(lines[1].slots[0].reward, 0.25);
  EXPECT_EQ(lines[1].slots[1].reward, 1);
  ASSERT_THAT(lines[1].slots[1].p, SizeIs(3));
  EXPECT_EQ(lines[1].slots[1].p[lines[1].slots[0].chosen], 0) << "the first slot has this arm";
  EXPECT_EQ(lines[2].named_rank, 2u) << text_;
  EXPECT_EQ(lines[2].slots[0].reward, 0.5);
  EXPECT_EQ(lines[3].slots[0].reward, 0.25);
}

TEST_F(DecisionLogServerTest, ADeletedUserIsInNoFile) {
  Start(Model("m", std::string(kMix) + "decision_log {}"));
  std::map<std::string, std::string> tokens;
  for (int k = 0; k < 6; ++k) {
    const std::string user = k % 2 == 0 ? "ann" : "bob";
    const auto answer = caller_->Select(Caller::RequestOf("m", user, 1000 + k));
    ASSERT_TRUE(answer);
    ASSERT_TRUE(caller_->Report("m", answer->token(), 0.5));
  }
  WaitApplied("m");
  DecisionsAsked with_users;
  with_users.users = true;
  const auto before = Export("m", with_users);
  ASSERT_THAT(before, SizeIs(6));
  EXPECT_EQ(before[0].user, before[2].user);
  EXPECT_NE(before[0].user, before[1].user);
  EXPECT_NE(Export("m", with_users)[0].user, before[0].user) << "each export has a key of its own";
  const auto own = admin_->ExportUser("m", "ann");
  ASSERT_THAT(own, IsOk());
  ASSERT_EQ(own->entries_size(), 3);
  EXPECT_EQ(own->entries(0).kind(), "decision_line");
  EXPECT_THAT(own->entries(0).record(), HasSubstr("\"chosen\""));
  const auto deleted = admin_->DeleteUsers("m", {"ann"});
  ASSERT_THAT(deleted, IsOk());
  EXPECT_EQ(deleted->decisions(), 3u);
  const auto after = Export("m");
  ASSERT_THAT(after, SizeIs(3));
  for (const LoggedDecision& line : after) EXPECT_EQ(NumberOf(line.slots[0].x[0]) % 2, 1);
  EXPECT_THAT(admin_->ExportUser("m", "ann").status(), StatusIs(absl::StatusCode::kNotFound));
  const double feature = FeatureOf(1000);
  const std::string context(reinterpret_cast<const char*>(&feature), sizeof feature);
  for (const auto& entry : std::filesystem::directory_iterator(Folder("m"))) {
    EXPECT_THAT(FileAt(entry.path().string()), Not(HasSubstr(context))) << entry.path();
  }
}

TEST_F(DecisionLogServerTest, ItComesAndGoesByUpdates) {
  Start("");
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'm' dimension: 2 shared {} mode: NON_PRIVATE", &config));
  ASSERT_THAT(admin_->CreateModel(config), IsOk());
  ASSERT_TRUE(caller_->Select(Caller::RequestOf("m", "ann", 1)));
  AdminClient* const servers[] = {admin_.get()};
  EXPECT_THAT(
      ExportDecisions(servers, {.model = "m", .format = "jsonl"}, folder_.File("none")).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, "model m keeps no decisions"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("none")));
  v1::UpdateModelRequest request;
  request.mutable_config()->set_name("m");
  request.mutable_config()->mutable_decision_log()->set_arms_max(2);
  ASSERT_THAT(admin_->UpdateModel(request), IsOk());
  ASSERT_TRUE(caller_->Select(Caller::RequestOf("m", "ann", 2)));
  const auto lines = Export("m");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0].slots[0].p, SizeIs(2));
  EXPECT_EQ(lines[0].slots[0].offered, 3u);
  request.mutable_config()->clear_decision_log();
  request.mutable_update_mask()->add_paths("decision_log");
  ASSERT_THAT(admin_->UpdateModel(request), IsOk());
  EXPECT_FALSE(std::filesystem::exists(Folder("m")));
}

// Callers that keep what was answered and acknowledged until the server is gone.
struct Load {
  std::mutex mutex;
  std::set<int> decided;
  std::set<int> acknowledged;
  std::atomic<int> next{1};

  void Run(const std::string& address, const std::atomic<bool>& stop) {
    const Caller caller(address);
    while (!stop) {
      const int k = next++;
      const auto answer = caller.Select(Caller::RequestOf("m", "u" + std::to_string(k % 7), k));
      if (!answer) return;
      {
        const std::lock_guard lock(mutex);
        decided.insert(k);
      }
      if (k % 3 == 0) continue;  // nobody reacts
      if (!caller.Report("m", answer->token(), FeatureOf(k))) return;
      const std::lock_guard lock(mutex);
      acknowledged.insert(k);
    }
  }
};

TEST_F(DecisionLogServerTest, KillsLoseWholeDecisionsAndNoReward) {
  const char* const given = std::getenv("BANDANA_KILL_CYCLES");
  const int cycles = given == nullptr ? 6 : std::atoi(given);
  Start(Model("m", std::string(kMix) + "checkpoint { events: 60 } decision_log {}"));
  Load load;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] { load.Run(server_->listen(), stop); });
    }
    const std::size_t before = load.acknowledged.size();
    for (int attempt = 0; attempt < 3000; ++attempt) {
      {
        const std::lock_guard lock(load.mutex);
        if (load.acknowledged.size() >= before + 150 + 40 * cycle) break;
      }
      absl::SleepFor(absl::Milliseconds(2));
    }
    server_->Kill();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    Restart();
    if (HasFatalFailure()) return;
  }
  WaitApplied("m");
  std::map<int, LoggedSlot> lines;
  for (const LoggedDecision& line : Export("m")) {
    const LoggedSlot& slot = line.slots.front();
    const bool first = lines.emplace(NumberOf(slot.x[0]), slot).second;
    EXPECT_TRUE(first) << "a decision has two lines";
  }
  int without_line = 0;
  for (const int k : load.decided) without_line += lines.contains(k) ? 0 : 1;
  int missing = 0;
  for (const int k : load.acknowledged) {
    const auto line = lines.find(k);
    if (line == lines.end()) continue;
    const bool known = line->second.state == RewardState::kKnown;
    missing += known ? 0 : 1;
    EXPECT_EQ(line->second.reward, known ? FeatureOf(k) : 0);
  }
  EXPECT_EQ(missing, 0);
  for (const auto& [k, slot] : lines) {
    EXPECT_FALSE(slot.state == RewardState::kKnown && k % 3 == 0) << "nobody reacted";
  }
  // Answers that no caller saw, as the server was killed, are counted as well.
  const std::uint64_t lost = admin_->GetStats("m")->decision_log().lost();
  EXPECT_GE(lost, static_cast<std::uint64_t>(without_line));
  EXPECT_LE(lost, static_cast<std::uint64_t>(without_line + 3 * cycles));
  EXPECT_GT(load.acknowledged.size(), 150u * cycles);
  RecordProperty("decisions", static_cast<int>(load.decided.size()));
  RecordProperty("lost", static_cast<int>(lost));
  std::printf("%zu decisions, %zu acknowledged, %zu lines, %llu lost, %d kills\n",
              load.decided.size(), load.acknowledged.size(), lines.size(),
              static_cast<unsigned long long>(lost), cycles);
}

}  // namespace
}  // namespace bandana::testing
