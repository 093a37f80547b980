// The fleet's loop against a device that answers as the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/support/status_matchers.h"
#include "tools/environments/environment.h"
#include "tools/fleet/runner.h"
#include "tools/fleet/truth.h"

namespace bandana::testing {
namespace {

// Answers at once, on the caller's thread, unless told otherwise. Chooses arm 0.
class FakeDevice : public FleetDevice {
 public:
  // Replaces the answer to the n-th Select (from 0).
  std::function<absl::StatusOr<Selection>(int select)> answer = [](int) { return Legal(); };
  // The fate of the n-th report; nullopt: never answered.
  std::function<std::optional<Delivery>(int report)> delivery = [](int) {
    return Delivery::kApplied;
  };
  // Selects are answered only when this many are waiting.
  std::size_t batch = 1;

  static Selection Legal() {
    Selection selection;
    selection.arms.push_back({.position = 0, .propensity = 1});
    return selection;
  }

  const ModelInfo& model() const override { return model_; }

  void Select(const std::string& user, const Arms&,
              std::function<void(absl::StatusOr<Selection>)> done) override {
    Take(user, std::move(done));
  }
  void SelectPoint(const std::string& user,
                   std::function<void(absl::StatusOr<Selection>)> done) override {
    ++points;
    Take(user, std::move(done));
  }
  void Take(std::string_view user, std::function<void(absl::StatusOr<Selection>)> done) {
    users.emplace_back(user);
    under_way_max = std::max(under_way_max, ++under_way);
    waiting_.push_back(std::move(done));
    if (waiting_.size() < batch) return;
    for (const auto& waiting : std::exchange(waiting_, {})) waiting(answer(selects++));
  }

  void Report(const Selection&, double reward, std::function<void(absl::Status)> queued,
              std::function<void(Delivery)> done) override {
    rewards.push_back(reward);
    --under_way;
    if (!queue_error.ok()) return queued(queue_error);
    queued(absl::OkStatus());
    if (const std::optional<Delivery> answer_to_report = delivery(reports++))
      done(*answer_to_report);
  }

  ClientStats Stats() override { return {}; }
  absl::StatusOr<PrivacySpent> Spent(const std::string&) override { return PrivacySpent{}; }

  absl::Status queue_error;
  int selects = 0;
  int points = 0;  // of these, without arms
  int reports = 0;
  int under_way = 0;
  int under_way_max = 0;
  std::vector<std::string> users;
  std::vector<double> rewards;

 private:
  ModelInfo model_;
  std::vector<std::function<void(absl::StatusOr<Selection>)>> waiting_;
};

class RunnerTest : public ::testing::Test {
 protected:
  RunResult Go() {
    return bandana::Run(device_, *environment_, options_, stop_,
                        [](const Tally&, absl::Duration) {});
  }

  std::unique_ptr<Environment> environment_ = *MakeEnvironment("synthetic", {}, 1);
  FakeDevice device_;
  RunOptions options_{.rounds = 50};
  std::atomic<bool> stop_{false};
};

TEST_F(RunnerTest, MakesEveryDecisionOnceAndReportsItsReward) {
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kCompleted);
  EXPECT_EQ(result.tally.sums().decisions, 50u);
  EXPECT_EQ(result.tally.reports_acknowledged(), 50u);
  EXPECT_EQ(result.tally.select_latency.count(), 50u);
  EXPECT_EQ(result.tally.report_latency.count(), 50u);
  EXPECT_EQ(result.users.size(), 10u);
  Choice decision;
  double regret = 0;
  for (int i = 0; i < 50; ++i) {
    environment_->DecisionAt(i, decision);
    EXPECT_EQ(device_.users[i], decision.user);
    EXPECT_EQ(device_.rewards[i], environment_->RewardAt(i, decision, 0));
    regret += decision.BestExpected() - decision.expected[0];
  }
  EXPECT_NEAR(result.tally.sums().regret, regret, 1e-12);
}

TEST_F(RunnerTest, TellsOfEveryLegalAnswer) {
  device_.answer = [](int select) -> absl::StatusOr<Selection> {
    if (select == 3) return absl::InternalError("");  // abandoned
    Selection selection;
    selection.arms.push_back({.position = select % 10, .propensity = 0.25});
    return selection;
  };
  std::string lines;
  std::vector<std::uint64_t> rounds;
  bandana::Run(
      device_, *environment_, options_, stop_, [](const Tally&, absl::Duration) {},
      [&](std::uint64_t round, const Choice& decision, const Selection& selection) {
        rounds.push_back(round);
        AppendTruth(round, decision, selection.arms.front(), lines);
      });
  ASSERT_EQ(rounds.size(), 49u);
  const std::vector<std::string> split = absl::StrSplit(lines, '\n', absl::SkipEmpty());
  ASSERT_EQ(split.size(), rounds.size());
  Choice decision;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    EXPECT_EQ(rounds[i], i < 3 ? i : i + 1);
    environment_->DecisionAt(rounds[i], decision);
    const auto line = nlohmann::json::parse(split[i]);
    EXPECT_EQ(line["round"], rounds[i]);
    EXPECT_EQ(line["user"], decision.user);
    EXPECT_FALSE(line.contains("arms"));  // they have no ids here
    EXPECT_EQ(line["expected"].get<std::vector<double>>(), decision.expected);
    EXPECT_EQ(line["chosen"], rounds[i] % 10);
    EXPECT_EQ(line["p"], 0.25);
  }
}

TEST_F(RunnerTest, ConcurrencyDoesNotChangeTheDecisions) {
  const RunResult one = Go();
  options_.in_flight = 8;
  device_.batch = 5;  // 50 rounds end with a full batch
  const RunResult eight = Go();
  EXPECT_NEAR(eight.tally.sums().regret, one.tally.sums().regret, 1e-12);
  EXPECT_NEAR(eight.tally.sums().reward, one.tally.sums().reward, 1e-12);
}

TEST_F(RunnerTest, KeepsSoManyUnderWayAndNoMore) {
  options_.in_flight = 5;
  device_.batch = 5;
  EXPECT_EQ(Go().end, RunEnd::kCompleted);
  EXPECT_EQ(device_.under_way_max, 5);
}

TEST_F(RunnerTest, OneInFlightWaitsForTheReportsAnswer) {
  // The answer to a report comes late, from another thread; the next Select must not come before
  // it.
  std::vector<std::string> order;
  std::mutex mutex;
  const auto note = [&](const char* event) {
    const std::lock_guard lock(mutex);
    order.emplace_back(event);
  };
  options_.rounds = 3;
  device_.answer = [&](int) {
    note("select");
    return FakeDevice::Legal();
  };
  device_.delivery = [&](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    note("acknowledged");
    return Delivery::kApplied;
  };
  Go();
  EXPECT_THAT(order, ElementsAre("select", "acknowledged", "select", "acknowledged", "select",
                                 "acknowledged"));
}

TEST_F(RunnerTest, TriesPassingFailuresAgainAndCountsThem) {
  device_.answer = [](int select) -> absl::StatusOr<Selection> {
    if (select == 3 || select == 4) return absl::UnavailableError("away");
    if (select == 7) return absl::DeadlineExceededError("slow");
    return FakeDevice::Legal();
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kCompleted);
  EXPECT_EQ(result.tally.sums().decisions, 50u);
  EXPECT_THAT(result.tally.errors_by_code(),
              ElementsAre(Pair(absl::StatusCode::kDeadlineExceeded, 1u),
                          Pair(absl::StatusCode::kUnavailable, 2u)));
}

TEST_F(RunnerTest, EndsWhenTheServerCallsTheFirstDecisionInvalid) {
  device_.answer = [](int) -> absl::StatusOr<Selection> {
    return absl::InvalidArgumentError("arms: absent");
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kMisfit);
  EXPECT_EQ(result.misfit, absl::InvalidArgumentError("arms: absent"));
  EXPECT_EQ(result.tally.sums().decisions, 0u);
}

TEST_F(RunnerTest, AnInvalidDecisionLaterIsAbandoned) {
  device_.answer = [](int select) -> absl::StatusOr<Selection> {
    if (select % 2 == 1) return absl::InvalidArgumentError("arms: absent");
    return FakeDevice::Legal();
  };
  options_.in_flight = 1;
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kCompleted);
  EXPECT_EQ(result.tally.abandoned(), 25u);
}

TEST_F(RunnerTest, AbandonsDecisionsThatFailForGood) {
  device_.answer = [](int select) -> absl::StatusOr<Selection> {
    if (select % 2 == 0) return absl::NotFoundError("user");
    return FakeDevice::Legal();
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kCompleted);
  EXPECT_EQ(result.tally.sums().decisions, 25u);
  EXPECT_EQ(result.tally.abandoned(), 25u);
  EXPECT_EQ(device_.reports, 25);
}

TEST_F(RunnerTest, RefusesIllegalAnswers) {
  const std::vector<Selection> illegal = [] {
    std::vector<Selection> selections(6, FakeDevice::Legal());
    selections[0].arms.clear();
    selections[1].arms[0].position = -1;
    selections[2].arms[0].position = 10;
    selections[3].arms[0].propensity = 0;
    selections[4].arms[0].propensity = 1.5;
    selections[5].arms.push_back(selections[5].arms[0]);
    return selections;
  }();
  device_.answer = [&](int select) -> absl::StatusOr<Selection> {
    return select < 6 ? illegal[select] : FakeDevice::Legal();
  };
  const RunResult result = Go();
  EXPECT_EQ(result.tally.invalid_answers(), 6u);
  EXPECT_EQ(result.tally.sums().decisions, 44u);
  EXPECT_EQ(device_.reports, 44);
}

TEST_F(RunnerTest, PointsAreCountedByWhatTheyAreWorth) {
  environment_ = *MakeEnvironment("points", {}, 1);
  device_.answer = [](int) {
    Selection selection;
    selection.point = {0.5, -0.5};
    return selection;
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kCompleted);
  EXPECT_EQ(device_.points, 50);
  const PointRewards& points = *environment_->points();
  const std::vector<double> point = {0.5, -0.5};
  EXPECT_NEAR(result.tally.sums().regret, -50 * points.Expected(point), 1e-9);
  EXPECT_NEAR(result.tally.sums().random_regret, -50 * points.MeanExpected(), 1e-9);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(device_.rewards[i], points.RewardAt(i, point));
}

TEST_F(RunnerTest, RefusesWhatIsNoPointOfTheDomain) {
  environment_ = *MakeEnvironment("points", {}, 1);
  device_.answer = [](int select) {
    Selection selection;
    if (select == 0) selection.point = {0.9, 0.9};
    if (select == 1) selection.point = {0.5};
    if (select == 2) selection.point = {std::nan(""), 0};
    if (select > 2) selection.point = {0.5, 0.5};
    if (select == 3) selection.arms.resize(1);
    return selection;
  };
  const RunResult result = Go();
  EXPECT_EQ(result.tally.invalid_answers(), 4u);
  EXPECT_EQ(result.tally.sums().decisions, 46u);
}

TEST_F(RunnerTest, CountsWhatBecameOfReports) {
  device_.delivery = [](int report) {
    return report == 0   ? Delivery::kDuplicate
           : report == 1 ? Delivery::kRejected
                         : Delivery::kApplied;
  };
  const RunResult result = Go();
  EXPECT_EQ(result.tally.reports_acknowledged(), 49u);
  EXPECT_EQ(result.tally.reports_duplicate(), 1u);
  EXPECT_EQ(result.tally.reports_refused(), 1u);
}

TEST_F(RunnerTest, CountsReportsThatTheDeviceRefused) {
  device_.queue_error = absl::FailedPreconditionError("no events left");
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kCompleted);
  EXPECT_EQ(result.tally.reports_acknowledged(), 0u);
  EXPECT_THAT(result.tally.errors_by_code(),
              ElementsAre(Pair(absl::StatusCode::kFailedPrecondition, 50u)));
}

TEST_F(RunnerTest, GivesUpWhenSelectsStayUnanswered) {
  options_.reconnect_timeout = absl::Milliseconds(300);
  device_.answer = [](int select) -> absl::StatusOr<Selection> {
    if (select >= 10) return absl::UnavailableError("away");
    return FakeDevice::Legal();
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kServerAway);
  EXPECT_EQ(result.tally.sums().decisions, 10u);
  EXPECT_EQ(result.tally.reports_acknowledged(), 10u);
}

TEST_F(RunnerTest, GivesUpWhenReportsStayUnanswered) {
  options_.reconnect_timeout = absl::Milliseconds(300);
  device_.delivery = [](int report) -> std::optional<Delivery> {
    if (report >= 10) return std::nullopt;
    return Delivery::kApplied;
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kServerAway);
  EXPECT_EQ(result.tally.sums().decisions, 11u);
  EXPECT_EQ(result.tally.reports_acknowledged(), 10u);
}

TEST_F(RunnerTest, StopsWhenAskedTo) {
  options_.rounds = 1'000'000'000;
  device_.delivery = [&](int report) {
    if (report == 20) stop_ = true;
    return Delivery::kApplied;
  };
  const RunResult result = Go();
  EXPECT_EQ(result.end, RunEnd::kInterrupted);
  EXPECT_GE(result.tally.sums().decisions, 21u);
  EXPECT_EQ(result.tally.reports_acknowledged(), result.tally.sums().decisions);
  EXPECT_EQ(result.tally.curve().back().decisions, result.tally.sums().decisions);
}

TEST_F(RunnerTest, OpenLoopDoesNotWaitForAnswers) {
  // Nothing is answered before all 50 are waiting: a closed loop would stand still.
  for (const bool poisson : {true, false}) {
    options_.rate = 2000;
    options_.poisson = poisson;
    device_.batch = 50;
    const RunResult result = Go();
    EXPECT_EQ(result.end, RunEnd::kCompleted);
    EXPECT_EQ(result.tally.sums().decisions, 50u);
    EXPECT_EQ(result.tally.send_lateness.count(), 50u);
  }
}

}  // namespace
}  // namespace bandana::testing
