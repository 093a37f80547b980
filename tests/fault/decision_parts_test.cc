// Decision logs of servers that share a database: each keeps what it answered, with its rewards,
// through deletions while one is away, takeovers, restarts and kills. BANDANA_KILL_CYCLES sets how
// often one is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
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

#include "common/base/file.h"
#include "tests/support/decision_caller.h"
#include "tests/support/postgres_server.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/decisions.h"
#include "tools/ctl/split.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kModel[] =
    "models { name: '%s' dimension: 2 refresh_interval {} mode: NON_PRIVATE "
    "policy { uniform_mix { uniform_share: 0.3 } } decision_log {} %s }\n";

class DecisionPartsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kServers = 2;

  struct Member {
    std::string name;
    TempDir folder;
    std::unique_ptr<ServerProcess> process;
    std::unique_ptr<AdminClient> admin;
    std::unique_ptr<Caller> caller;
    std::string Log() const { return folder.File("data/models/m/decisions"); }
  };

  void SetUp() override {
    if (!PostgresServer::Available()) {
      GTEST_SKIP() << "no PostgreSQL 15 here (package postgresql)";
    }
    ASSERT_THAT(WriteFileDurably(keys_.File("key"), std::string(64, '7'), 0600), IsOk());
    database_ = std::make_unique<PostgresServer>();
  }
  static std::string ModelNamed(const std::string& name, const std::string& more) {
    std::string model = kModel;
    model.replace(model.find("%s"), 2, name);
    return model.replace(model.find("%s"), 2, more);
  }
  void Start(const std::string& more = "", const std::string& family = "shared {}") {
    models_ = ModelNamed("m", family + " " + more) + models_;
    for (std::size_t i = 0; i < kServers; ++i) {
      members_[i].name = std::string(1, static_cast<char>('a' + i));
      Start(members_[i]);
    }
  }
  void Start(Member& member) {
    const std::string config = "log { postgresql { connection: '" + database_->connection() +
                               "' key_file: '" + keys_.File("key") +
                               "' lease { seconds: 2 } server: '" + member.name +
                               "' } } peers { listen: '127.0.0.1:0' } " + models_;
    auto process = ServerProcess::Start({.config = config, .folder = member.folder.path()});
    ASSERT_THAT(process, IsOk());
    member.process = *std::move(process);
    member.admin = *AdminClient::Connect(member.process->listen(), absl::Seconds(60));
    member.caller = std::make_unique<Caller>(member.process->listen());
    ASSERT_TRUE(Eventually([&] { return member.admin->GetStatsHere("m").ok(); }));
  }
  static void Kill(Member& member) {
    member.process->Kill();
    member.caller.reset();
    member.admin.reset();
  }
  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (int tried = 0; tried < 3000; ++tried) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return false;
  }
  // An owner that serves, and no server behind it.
  void WaitSettled() {
    ASSERT_TRUE(Eventually([&] {
      const auto owner = members_[0].admin->GetStats("m");
      for (Member& member : members_) {
        const auto here = member.admin->GetStatsHere("m");
        if (!owner.ok() || !here.ok()) return false;
        if (here->applied_sequence() != owner->log_sequence()) return false;
      }
      return true;
    }));
  }
  // Sends until somebody takes it: owners change.
  void ReportSurely(const std::string& token, double reward, std::size_t by) {
    ASSERT_TRUE(Eventually([&] { return members_[by].caller->Report("m", token, reward); }));
  }
  std::string Select(std::size_t by, const std::string& user, int k) {
    const auto answer = members_[by].caller->Select(Caller::RequestOf("m", user, k));
    EXPECT_TRUE(answer);
    return answer ? answer->token() : "";
  }
  // By their numbers; each once.
  std::map<int, LoggedDecision> Export(std::vector<AdminClient*> servers,
                                       DecisionsWritten* written = nullptr) {
    const std::string path = keys_.File("log.jsonl");
    const auto exported = ExportDecisions(servers, {.model = "m"}, path);
    EXPECT_THAT(exported.status(), IsOk());
    if (exported.ok() && written != nullptr) *written = *exported;
    std::map<int, LoggedDecision> lines;
    absl::Time before = absl::InfinitePast();
    for (LoggedDecision& line : LinesOf(FileAt(path))) {
      EXPECT_LE(before, line.time);
      before = line.time;
      const int k = NumberOf(line.slots.front().x[0]);
      EXPECT_TRUE(lines.emplace(k, std::move(line)).second) << "twice: " << k;
    }
    return lines;
  }
  std::map<int, LoggedDecision> Export() {
    return Export({members_[0].admin.get(), members_[1].admin.get()});
  }
  static std::vector<std::string> Names(
      const google::protobuf::RepeatedPtrField<std::string>& names) {
    return {names.begin(), names.end()};
  }

  std::string models_;  // textproto, of all
  TempDir keys_;
  std::unique_ptr<PostgresServer> database_;
  std::array<Member, kServers> members_;
};

TEST_F(DecisionPartsTest, EachServerKeepsWhatItAnsweredAndExportsAreJoined) {
  Start();
  // Each is answered by one server, and reported to the other; every third is not.
  for (int k = 0; k < 30; ++k) {
    const std::string token = Select(k % 2, "u" + std::to_string(k % 5), k);
    if (k % 3 != 0) ReportSurely(token, FeatureOf(k), (k + 1) % 2);
  }
  WaitSettled();
  const auto lines = Export();
  ASSERT_THAT(lines, SizeIs(30));
  for (const auto& [k, line] : lines) {
    const LoggedSlot& slot = line.slots.front();
    EXPECT_EQ(slot.state == RewardState::kKnown, k % 3 != 0) << k;
    EXPECT_EQ(slot.reward, k % 3 != 0 ? FeatureOf(k) : 0) << k;
  }
  DecisionsWritten written;
  const auto half = Export({members_[1].admin.get()}, &written);
  EXPECT_THAT(half, SizeIs(15));
  for (const auto& [k, line] : half) {
    EXPECT_EQ(k % 2, 1);
    EXPECT_EQ(line.slots.front().state == RewardState::kKnown, k % 3 != 0) << "whole by itself";
  }
  EXPECT_THAT(written.missing, ElementsAre("a"));
  AdminClient* const twice[] = {members_[0].admin.get(), members_[0].admin.get()};
  EXPECT_THAT(ExportDecisions(twice, {.model = "m"}, keys_.File("twice.jsonl")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "two of them are one server, a"));
  AdminClient* const both[] = {members_[0].admin.get(), members_[1].admin.get()};
  const auto stats = DecisionStats(both, "m");
  ASSERT_THAT(stats, IsOk());
  EXPECT_EQ(stats->lines(), 30u);
  EXPECT_EQ(stats->lost(), 0u);
  // Either server says what both have of a user.
  for (Member& member : members_) {
    const auto user = member.admin->ExportUser("m", "u1");
    ASSERT_THAT(user, IsOk());
    EXPECT_EQ(user->entries_size(), 6);
    EXPECT_THAT(Names(user->servers_missing()), IsEmpty());
  }
}

// Lines of before go everywhere, at the latest when a server that was away comes back; those that
// the same user gets afterwards stay.
TEST_F(DecisionPartsTest, ADeletionReachesAServerThatWasAway) {
  Start();
  for (int k = 0; k < 24; ++k) {
    const std::string token = Select(k % 2, k % 4 < 2 ? "ann" : "bob", 1000 + k);
    ReportSurely(token, 0.5, k % 2);
  }
  const std::string late = Select(1, "ann", 1100);
  WaitSettled();
  ASSERT_THAT(Export(), SizeIs(25));
  Kill(members_[1]);
  const auto missing = [&] { return members_[0].admin->ExportUser("m", "ann"); };
  ASSERT_TRUE(Eventually([&] { return missing().ok(); })) << "owned again";
  EXPECT_THAT(Names(missing()->servers_missing()), ElementsAre("b"));
  EXPECT_THAT(members_[0].admin->ExportUser("m", "nobody"), IsOk()) << "b may know him";
  ReportSurely(late, FeatureOf(1100), 0);
  // Servers that were there just now are waited for.
  absl::StatusOr<v1::DeleteUsersResponse> deleted;
  ASSERT_TRUE(Eventually([&] {
    deleted = members_[0].admin->DeleteUsers("m", {"ann"});
    return deleted.ok();
  }));
  EXPECT_THAT(Names(deleted->servers_outstanding()), ElementsAre("b"));
  ReportSurely(Select(0, "ann", 2000), 0.25, 0);
  Start(members_[1]);
  ReportSurely(Select(1, "ann", 2001), 0.25, 1);
  WaitSettled();
  const auto lines = Export();
  EXPECT_THAT(lines, SizeIs(14)) << "bob's, and two new ones";
  for (const auto& [k, line] : lines) EXPECT_TRUE(k >= 2000 || k % 4 >= 2) << k;
  ASSERT_TRUE(lines.contains(2000) && lines.contains(2001));
  EXPECT_EQ(lines.at(2001).slots.front().reward, 0.25);
  EXPECT_THAT(members_[0].admin->ExportUser("m", "nobody").status(),
              StatusIs(absl::StatusCode::kNotFound));
  // With all there nobody is outstanding, and no file has what was deleted.
  const auto again = members_[1].admin->DeleteUsers("m", {"ann"});
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->decisions(), 2u);
  EXPECT_THAT(Names(again->servers_outstanding()), IsEmpty());
  EXPECT_THAT(Export(), SizeIs(12));
  for (const Member& member : members_) {
    // The reward of 1100 goes as well, which b hears of together with the deletion.
    for (const int k : {1000, 1001, 1021, 1100, 2000, 2001}) {
      const double feature = FeatureOf(k);
      const std::string bytes(reinterpret_cast<const char*>(&feature), sizeof feature);
      for (const auto& entry : fs::directory_iterator(member.Log())) {
        EXPECT_THAT(FileAt(entry.path().string()), Not(HasSubstr(bytes))) << k << entry.path();
      }
    }
  }
  // A restart does not do it once more.
  ReportSurely(Select(1, "ann", 3000), 0.25, 1);
  WaitSettled();
  ASSERT_EQ(members_[1].process->Terminate(), 0);
  Start(members_[1]);
  WaitSettled();
  EXPECT_TRUE(Export().contains(3000));
}

// A disk that was put back has lines of users who were deleted since.
TEST_F(DecisionPartsTest, AFolderOfBeforeADeletionGivesUpItsLines) {
  Start();
  for (int k = 0; k < 8; ++k) Select(k % 2, k < 4 ? "ann" : "bob", k);
  WaitSettled();
  ASSERT_THAT(Export(), SizeIs(8));
  ASSERT_EQ(members_[1].process->Terminate(), 0);
  const std::string copy = keys_.File("copy");
  fs::copy(members_[1].Log(), copy, fs::copy_options::recursive);
  Start(members_[1]);
  WaitSettled();
  ASSERT_TRUE(Eventually([&] { return members_[0].admin->DeleteUsers("m", {"ann"}).ok(); }));
  EXPECT_THAT(Export(), SizeIs(4));
  ASSERT_EQ(members_[1].process->Terminate(), 0);
  fs::remove_all(members_[1].Log());
  fs::copy(copy, members_[1].Log(), fs::copy_options::recursive);
  Start(members_[1]);
  WaitSettled();
  const auto lines = Export();
  EXPECT_THAT(lines, SizeIs(2)) << "of server a alone";
  for (const auto& [k, line] : lines) EXPECT_TRUE(k >= 4 && k % 2 == 0) << k;
  Select(1, "ann", 9);
  WaitSettled();
  EXPECT_THAT(Export(), SizeIs(3));
}

// Rewards that came while a server was away are gone with their entries, and so are the lines that
// they may have been of: nobody takes those that stay for decisions without a reaction.
TEST_F(DecisionPartsTest, LinesGoWhoseRewardsNobodyKnowsAnyMore) {
  Start("", "independent {}");
  std::vector<std::string> tokens;
  for (int k = 0; k < 12; ++k) tokens.push_back(Select(k % 2, k % 4 < 2 ? "ann" : "bob", k));
  for (int k = 0; k < 4; ++k) ReportSurely(tokens[k], FeatureOf(k), k % 2);
  ReportSurely(Select(0, "eve", 50), FeatureOf(50), 0);
  WaitSettled();
  ASSERT_THAT(Export(), SizeIs(13));
  Kill(members_[1]);
  for (int k = 4; k < 8; ++k) ReportSurely(tokens[k], FeatureOf(k), 0);
  // In a model of independent users a deletion lets go of all entries at once.
  ASSERT_TRUE(Eventually([&] { return members_[0].admin->DeleteUsers("m", {"eve"}).ok(); }));
  Start(members_[1]);
  ReportSurely(Select(1, "ann", 60), FeatureOf(60), 0);
  WaitSettled();
  const auto lines = Export();
  EXPECT_THAT(lines, SizeIs(7)) << "six of server a, and the new one";
  for (const auto& [k, line] : lines) {
    EXPECT_TRUE(k % 2 == 0) << k;
    const LoggedSlot& slot = line.slots.front();
    const bool reported = k < 8 || k == 60;
    EXPECT_EQ(slot.state == RewardState::kKnown, reported) << k;
    EXPECT_EQ(slot.reward, reported ? FeatureOf(k) : 0) << k;
  }
}

TEST_F(DecisionPartsTest, EachServerHasTheLiftOfWhatItAnswered) {
  Start("reporting { one_per_decision: true }");
  for (int k = 0; k < 15; ++k) {
    const std::string token = Select(k % 3 == 0 ? 0 : 1, "ann", k);
    ReportSurely(token, 0.5, k % 2);
  }
  WaitSettled();
  for (std::size_t i = 0; i < kServers; ++i) {
    EXPECT_TRUE(Eventually([&] {
      const auto stats = members_[i].admin->GetStatsHere("m");
      return stats.ok() && stats->lift().first_decisions() == (i == 0 ? 5 : 10);
    })) << members_[i].name;
    const v1::LiftStats lift = members_[i].admin->GetStatsHere("m")->lift();
    EXPECT_EQ(lift.none(), "") << members_[i].name;
    EXPECT_EQ(lift.waiting(), 0u) << members_[i].name;
  }
}

// A user's first decisions may be of the server that is not named.
TEST_F(DecisionPartsTest, ASplitIsJudgedByAllPartsOrNotAtAll) {
  models_ = ModelNamed("n", "shared {}");
  Start();
  v1::Alias alias;
  alias.set_name("split");
  for (const char* const model : {"m", "n"}) alias.add_shares()->set_model(model);
  ASSERT_TRUE(Eventually([&] { return members_[0].admin->PutAlias(alias).ok(); }));
  AdminClient* const both[] = {members_[0].admin.get(), members_[1].admin.get()};
  EXPECT_TRUE(Eventually([&] { return JudgeSplit(both, "split", {}).ok(); }));
  EXPECT_THAT(JudgeSplit({both, 1}, "split", {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "m: without the part of server b: name it with another --target"));
}

// Windows close at the owner; a deferred decision is a line from its activation on, wherever that
// came, and after each server's restart.
TEST_F(DecisionPartsTest, ActivationsAndWindowsReachTheServerThatAnswered) {
  Start("reporting { reward_window { duration { seconds: 2 } default_reward: 0.25 } }");
  WaitSettled();
  for (int k = 0; k < 8; ++k) {
    auto request = Caller::RequestOf("m", "ann", k);
    request.set_deferred(k % 2 == 0);
    const auto answer = members_[k / 4].caller->Select(request);
    ASSERT_TRUE(answer);
    // 0 and 4 are never shown.
    if (k % 4 == 2) {
      ASSERT_TRUE(members_[1 - k / 4].caller->Activate("m", answer->token()));
    }
    if (k % 4 != 0) ReportSurely(answer->token(), 0.75, k / 4);
  }
  WaitSettled();
  const auto closed = [&] {
    const auto lines = Export();
    if (lines.size() != 6) return false;
    for (const auto& [k, line] : lines) {
      if (line.slots.front().state != RewardState::kKnown) return false;
    }
    return true;
  };
  for (Member& member : members_) {
    Kill(member);
    Start(member);
  }
  EXPECT_TRUE(Eventually(closed));
  for (const auto& [k, line] : Export()) EXPECT_EQ(line.slots.front().reward, 0.75) << k;
}

// Callers that keep what was answered and acknowledged, by server.
TEST_F(DecisionPartsTest, KillsAndTakeoversLoseNoReward) {
  const char* const given = std::getenv("BANDANA_KILL_CYCLES");
  const int cycles = given == nullptr ? 4 : std::atoi(given);
  Start("checkpoint { events: 200 }");
  WaitSettled();
  std::mutex mutex;
  std::set<int> decided, acknowledged;
  std::atomic<int> next{1};
  for (int cycle = 0; cycle < cycles; ++cycle) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < 2 * kServers; ++i) {
      callers.emplace_back([&, i] {
        const Caller own(members_[i % kServers].process->listen());
        const Caller other(members_[(i + 1) % kServers].process->listen());
        while (!stop) {
          const int k = next++;
          const auto answer = own.Select(Caller::RequestOf("m", "u" + std::to_string(k % 7), k));
          if (!answer) return;
          {
            const std::lock_guard lock(mutex);
            decided.insert(k);
          }
          if (k % 3 == 0) continue;  // nobody reacts
          const Caller& by = k % 2 == 0 ? own : other;
          if (!by.Report("m", answer->token(), FeatureOf(k))) continue;
          const std::lock_guard lock(mutex);
          acknowledged.insert(k);
        }
      });
    }
    absl::SleepFor(absl::Seconds(2));
    Member& killed = members_[static_cast<std::size_t>(cycle) % kServers];
    killed.process->Kill();
    absl::SleepFor(absl::Seconds(1));  // the other one goes on, and takes over
    stop = true;
    for (std::thread& caller : callers) caller.join();
    Start(killed);
    WaitSettled();
  }
  const auto lines = Export();
  std::uint64_t lost = 0;
  for (Member& member : members_) lost += member.admin->GetStatsHere("m")->decision_log().lost();
  std::size_t without_line = 0;
  for (const int k : decided) without_line += lines.contains(k) ? 0 : 1;
  int missing = 0;
  for (const auto& [k, line] : lines) {
    const LoggedSlot& slot = line.slots.front();
    const bool known = slot.state == RewardState::kKnown;
    if (acknowledged.contains(k)) missing += known ? 0 : 1;
    if (known) {
      EXPECT_EQ(slot.reward, FeatureOf(k)) << k;
      EXPECT_NE(k % 3, 0) << "nobody reacted";
    }
  }
  std::printf("%zu decisions, %zu acknowledged, %zu lines, %zu without, %llu lost, %d kills\n",
              decided.size(), acknowledged.size(), lines.size(), without_line,
              static_cast<unsigned long long>(lost), cycles);
  EXPECT_EQ(missing, 0);
  EXPECT_GE(lost, without_line);
  EXPECT_LE(lost, without_line + 2 * kServers * static_cast<std::size_t>(cycles));
  EXPECT_GT(acknowledged.size(), 20u * cycles);
}

}  // namespace
}  // namespace bandana::testing
