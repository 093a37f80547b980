// The SDK's process is killed at every point between debit, draw, persist and send, one after the
// other: before and after each sync of its store, and inside draws. Whatever the point, no step and
// no decision is ever released twice, and nothing is released that was not paid for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bandana/client.h"
#include "client/src/seams.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};
constexpr int kReports = 2;

v1::GetPosteriorResponse AnyPosterior() {
  v1::GetPosteriorResponse response;
  response.set_version(1);
  for (const double mean : {1.0, 0.0}) response.add_means(mean);
  for (const double entry : {1.0, 0.0, 1.0}) response.add_covariances(entry);
  response.add_alphas(0);
  return response;
}

ClientOptions OptionsFor(const std::string& target) {
  ClientOptions options;
  options.target = target;
  options.model = "fake";
  options.policy.delta_max = 1e-6;
  options.backoff_min = absl::Milliseconds(1);
  options.backoff_max = absl::Milliseconds(20);
  return options;
}

// ---------------------------------------------------------------------------------- the child

std::atomic<int> points_left{0};

void Point() {
  if (--points_left == 0) kill(getpid(), SIGKILL);
}

// A point before the first bits of a draw, and in its middle now and then.
class PointBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    if (fills_++ % 16 == 0) Point();
    return SystemBits().Fill(out);
  }

 private:
  int fills_ = 0;
};

// Exits 0 when it came through.
int RunChild(int point, const std::string& target, const std::string& path) {
  points_left = point;
  FaultVfs::Instance();
  sqlite3_vfs_register(sqlite3_vfs_find(FaultVfs::kName), /*makeDflt=*/1);
  FaultVfs::Instance().at_sync = Point;
  PointBits bits;
  device::Seams seams;
  seams.bits = &bits;
  auto store = DeviceStore::Open(path);
  if (!store.ok()) return 2;
  auto client = device::Connect(OptionsFor(target), *store, seams);
  if (!client.ok()) return 3;
  for (int i = 0; i < kReports; ++i) {
    const auto selection = (*client)->Select("u", Arms::Inline(kArms));
    if (!selection.ok()) return 4;
    if (!(*client)->Report(*selection, 1.0).ok()) return 5;
  }
  return (*client)->Flush(absl::Seconds(30)) ? 0 : 6;
}

// --------------------------------------------------------------------------------- the parent

// True when the child was killed at the point, false when it ended before.
bool KilledAt(int point, const FakeRecommender& server, const std::string& path) {
  const std::string number = std::to_string(point);
  const std::string target = server.target();
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "device_crash_test", "--child", number.c_str(), target.c_str(),
          path.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return true;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return false;
}

// The next run sends what is due and makes one more report.
PrivacySpent RunOnce(const FakeRecommender& server, const std::string& path) {
  auto store = DeviceStore::Open(path);
  EXPECT_THAT(store, IsOk());
  if (!store.ok()) return {};
  EXPECT_FALSE((*store)->rolled_back());
  auto client = Client::Connect(OptionsFor(server.target()), *store);
  EXPECT_THAT(client, IsOk());
  if (!client.ok()) return {};
  EXPECT_THAT((*client)->Report(*(*client)->Select("u", Arms::Inline(kArms)), 1.0), IsOk());
  EXPECT_TRUE((*client)->Flush(absl::Seconds(30)));
  EXPECT_EQ((*client)->Stats().reports_pending, 0);
  EXPECT_EQ((*client)->Stats().reports_rejected, 0);
  EXPECT_EQ((*client)->Stats().streams_ended, 0);
  return *(*client)->Spent("u");
}

TEST(DeviceCrashTest, CounterStepsAreReleasedOnceAndPaidForWhereverItIsKilled) {
  int killed = 0;
  for (int point = 1;; ++point) {
    const testing::TempDir folder;
    FakeRecommender server(CounterModelSpec());
    const bool was_killed = KilledAt(point, server, folder.File("d.db"));
    const PrivacySpent spent = RunOnce(server, folder.File("d.db"));
    std::map<std::pair<std::string, std::uint64_t>, std::string> moments, tokens;
    std::set<std::string> streams, decisions;
    for (const auto& report : server.counter_reports()) {
      streams.insert(report.stream());
      std::string moment;
      for (const double value : report.moment()) moment += std::to_string(value) + " ";
      const auto same = moments.emplace(std::pair(report.stream(), report.step()), moment);
      EXPECT_EQ(same.first->second, moment) << "step " << report.step() << ", point " << point;
      std::uint64_t step = report.step() - report.steps_size();
      for (const auto& each : report.steps()) {
        const auto first = tokens.emplace(std::pair(report.stream(), ++step), each.token());
        EXPECT_EQ(first.first->second, each.token()) << "step " << step << ", point " << point;
        decisions.insert(each.token());
      }
    }
    // One stream for all runs, paid for once; each step another decision.
    EXPECT_EQ(streams.size(), 1) << point;
    EXPECT_EQ(spent.streams, 1) << point;
    EXPECT_EQ(decisions.size(), tokens.size()) << point;
    EXPECT_GE(spent.events, decisions.size()) << point;
    if (!was_killed) break;
    ++killed;
  }
  // Store, join, stream, block of events, and two steps, each with a point before and after; draws.
  EXPECT_GE(killed, 16);
  RecordProperty("points", killed);
}

TEST(DeviceCrashTest, RandomizedDecisionsAreReleasedOnceAndPaidForWhereverItIsKilled) {
  int killed = 0;
  for (int point = 1;; ++point) {
    const testing::TempDir folder;
    FakeRecommender server(LocalSpec());
    const bool was_killed = KilledAt(point, server, folder.File("d.db"));
    const PrivacySpent spent = RunOnce(server, folder.File("d.db"));
    std::map<std::string, std::string> reports;
    for (const auto& delivery : server.deliveries()) {
      for (const std::string& bytes : delivery.reports) {
        v1::PerturbedReport report;
        ASSERT_TRUE(report.ParseFromString(bytes));
        EXPECT_EQ(reports.emplace(report.token(), bytes).first->second, bytes) << point;
      }
    }
    EXPECT_GE(spent.events, reports.size()) << point;
    EXPECT_EQ(server.applied_reports().size(), reports.size()) << point;
    if (!was_killed) break;
    ++killed;
  }
  EXPECT_GE(killed, 12);
  RecordProperty("points", killed);
}

TEST(DeviceCrashTest, PerturbedContextsAreReleasedOnceAndPaidForWhereverItIsKilled) {
  int killed = 0;
  for (int point = 1;; ++point) {
    const testing::TempDir folder;
    FakeRecommender server(ContextModelSpec());
    server.SetPosterior(AnyPosterior());
    const bool was_killed = KilledAt(point, server, folder.File("d.db"));
    const PrivacySpent spent = RunOnce(server, folder.File("d.db"));
    std::map<std::string, std::string> reports;
    std::set<std::string> seeds;
    for (const auto& delivery : server.deliveries()) {
      for (const std::string& bytes : delivery.reports) {
        v1::ContextReport report;
        ASSERT_TRUE(report.ParseFromString(bytes));
        EXPECT_EQ(reports.emplace(report.report_id(), bytes).first->second, bytes) << point;
        seeds.insert(report.seed());
      }
    }
    // A decision drawn twice would show as one report more than decisions were made.
    EXPECT_LE(reports.size(), kReports + 1) << point;
    EXPECT_EQ(seeds.size(), reports.size()) << point;
    EXPECT_GE(spent.events, reports.size()) << point;
    EXPECT_EQ(server.applied_contexts().size(), reports.size()) << point;
    if (!was_killed) break;
    ++killed;
  }
  EXPECT_GE(killed, 12);
  RecordProperty("points", killed);
}

}  // namespace
}  // namespace bandana

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--child") {
    return bandana::RunChild(std::atoi(argv[2]), argv[3], argv[4]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
