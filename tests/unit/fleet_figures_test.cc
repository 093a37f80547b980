// The fleet's pure parts: histogram, tally, JSON, text, plot, prior fit, command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

#include "common/base/file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/base/command_line.h"
#include "tools/base/gnuplot.h"
#include "tools/base/json.h"
#include "tools/environments/prior_fit.h"
#include "tools/environments/random.h"
#include "tools/fleet/histogram.h"
#include "tools/fleet/plot.h"
#include "tools/fleet/progress.h"
#include "tools/fleet/report.h"
#include "tools/fleet/tally.h"

namespace bandana::testing {
namespace {

TEST(LatencyHistogramTest, EmptyIsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  EXPECT_EQ(histogram.max(), absl::ZeroDuration());
}

TEST(LatencyHistogramTest, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 200; ++i) histogram.Record(absl::Nanoseconds(i));
  EXPECT_EQ(histogram.Quantile(0), absl::Nanoseconds(1));
  EXPECT_EQ(histogram.Quantile(0.5), absl::Nanoseconds(100));
  EXPECT_EQ(histogram.Quantile(0.99), absl::Nanoseconds(198));
  EXPECT_EQ(histogram.Quantile(1), absl::Nanoseconds(200));
}

TEST(LatencyHistogramTest, QuantilesAreWithinHalfABucketOfTheExactOnes) {
  // Log-uniform durations from 100 ns to 100 s.
  SeededStream stream(3, StreamPurpose::kArrival, 0);
  LatencyHistogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(std::floor(100 * std::pow(10, 9 * stream.Uniform())));
    histogram.Record(absl::Nanoseconds(static_cast<std::int64_t>(values.back())));
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = values[static_cast<std::size_t>(std::ceil(q * values.size())) - 1];
    EXPECT_NEAR(absl::ToDoubleNanoseconds(histogram.Quantile(q)) / exact, 1, 1.0 / 256) << q;
  }
  EXPECT_EQ(absl::ToDoubleNanoseconds(histogram.max()), values.back());
}

TEST(LatencyHistogramTest, ClampsWhatIsOutOfRange) {
  LatencyHistogram histogram;
  histogram.Record(absl::Nanoseconds(-5));
  histogram.Record(absl::Hours(2));
  histogram.Record(absl::InfiniteDuration());
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_EQ(histogram.Quantile(0), absl::ZeroDuration());
  EXPECT_EQ(absl::ToInt64Nanoseconds(histogram.max()), (std::int64_t{1} << 40) - 1);
}

TEST(JsonWriterTest, WritesNestedValues) {
  JsonWriter json;
  json.BeginObject().Key("a").Integer(3).Key("b").BeginArray().Number(0.5).Boolean(true).EndArray();
  json.Key("empty").BeginObject().EndObject().EndObject();
  EXPECT_EQ(json.Take(),
            "{\n  \"a\": 3,\n  \"b\": [\n    0.5,\n    true\n  ],\n  \"empty\": {}\n}\n");
}

TEST(JsonWriterTest, EscapesTextAndReplacesWhatIsNotANumber) {
  JsonWriter json;
  json.BeginArray().Text("a\"b\\c\nd").Number(std::numeric_limits<double>::quiet_NaN());
  json.Number(-std::numeric_limits<double>::infinity()).Number(1e-300).EndArray();
  EXPECT_EQ(json.Take(), "[\n  \"a\\\"b\\\\c\\u000ad\",\n  null,\n  null,\n  1e-300\n]\n");
}

TEST(TallyTest, AddsUpRegretAndRewards) {
  Tally tally(2);
  tally.CountDecision(/*best_expected=*/0.5, /*mean_expected=*/0.1, /*shown_expected=*/0.3,
                      /*reward=*/0.4);
  tally.CountDecision(0.25, -0.25, 0.25, 0);
  EXPECT_EQ(tally.sums().decisions, 2u);
  EXPECT_DOUBLE_EQ(tally.sums().regret, 0.2);
  EXPECT_DOUBLE_EQ(tally.sums().random_regret, 0.4 + 0.5);
  EXPECT_DOUBLE_EQ(tally.sums().reward, 0.4);
  EXPECT_DOUBLE_EQ(tally.sums().random_reward, -0.15);
}

TEST(TallyTest, CurveHasTwoHundredPointsAndTheLast) {
  for (const std::uint64_t rounds : {1u, 3u, 200u, 201u, 9'999u, 10'000u}) {
    Tally tally(rounds);
    for (std::uint64_t i = 0; i < rounds; ++i) tally.CountDecision(1, 0, 1, 1);
    tally.CloseCurve();
    EXPECT_EQ(tally.curve().size(), std::min<std::uint64_t>(rounds, 200)) << rounds;
    EXPECT_EQ(tally.curve().back().decisions, rounds);
  }
}

TEST(TallyTest, CurveOfAShortenedRunEndsWhereItEnded) {
  Tally tally(1000);
  for (int i = 0; i < 13; ++i) tally.CountDecision(1, 0, 1, 1);
  tally.CloseCurve();
  tally.CloseCurve();
  EXPECT_THAT(tally.curve(), ::testing::SizeIs(3));  // 5, 10, 13
  EXPECT_EQ(tally.curve().back().decisions, 13u);
}

TEST(TallyTest, AcknowledgedAreAppliedAndDuplicate) {
  Tally tally(10);
  tally.CountDelivery(Delivery::kApplied);
  tally.CountDelivery(Delivery::kDuplicate);
  tally.CountDelivery(Delivery::kExpired);
  tally.CountDelivery(Delivery::kRejected);
  tally.CountDelivery(Delivery::kDropped);
  EXPECT_EQ(tally.reports_acknowledged(), 2u);
  EXPECT_EQ(tally.reports_refused(), 3u);
  tally.CountError(absl::StatusCode::kUnavailable);
  tally.CountInvalidAnswer();
  EXPECT_EQ(tally.errors(), 5u);
}

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    result_.tally.CountDecision(0.5, 0.25, 0.25, 0.75);
    result_.tally.CountDelivery(Delivery::kApplied);
    result_.tally.select_latency.Record(absl::Microseconds(250));
    result_.elapsed = absl::Seconds(2);
    result_.users = {"0"};
    model_.name = "ldp-colin";
    model_.local = true;
    environment_.name = "synthetic";
  }

  RunReport Report() {
    return {.result = result_,
            .options = options_,
            .environment = environment_,
            .model = model_,
            .settings = {"users=3"},
            .client = {},
            .spent_max = {.epsilon_event = 2, .delta_event = 0, .events = 1, .epsilon_user = 2}};
  }

  RunOptions options_{.rounds = 1};
  RunResult result_{.tally = Tally(1)};
  ModelInfo model_;
  EnvironmentInfo environment_;
};

TEST_F(ReportTest, JsonHasTheContractsKeys) {
  const std::string json = ToJson(Report());
  for (const char* part :
       {"\"decisions\": 1,", "\"errors\": 0,", "\"reports_acknowledged\": 1,",
        "\"decisions_per_second\": 0.5,", "\"select_latency_us\": {\n    \"p50\": 250",
        "\"report_latency_us\": {", "\"p999\"", "\"reward\": 0.75,", "\"random_reward\": 0.25,",
        "\"normalized_reward\": 3,", "\"regret\": 0.25,", "\"random_regret\": 0.25,",
        "\"epsilon_spent\": 2,", "\"delta_spent\": 0,", "\"curve\": [", "\"end\": \"completed\"",
        "\"users=3\""}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
}

TEST_F(ReportTest, NormalizedRewardIsNullWhereItIsUndefined) {
  result_.tally = Tally(1);
  EXPECT_THAT(ToJson(Report()), HasSubstr("\"normalized_reward\": null"));
}

TEST_F(ReportTest, OpenLoopTellsItsLateness) {
  options_.rate = 100;
  result_.late_sends = 4;
  EXPECT_THAT(ToJson(Report()), HasSubstr("\"late_sends\": 4"));
  EXPECT_THAT(ToText(Report()), HasSubstr("could not keep the rate"));
  EXPECT_THAT(ToJson(Report()), Not(HasSubstr("in_flight")));
}

TEST_F(ReportTest, SucceedsOnlyWhenEverythingWasAcknowledged) {
  EXPECT_TRUE(Succeeded(Report()));
  result_.end = RunEnd::kInterrupted;
  EXPECT_FALSE(Succeeded(Report()));
  result_.end = RunEnd::kCompleted;
  options_.rounds = 2;
  EXPECT_FALSE(Succeeded(Report()));
}

TEST_F(ReportTest, TextNamesThePrivacySpent) {
  EXPECT_THAT(ToText(Report()), HasSubstr("epsilon 2 per event"));
}

TEST(ProgressTest, LineTellsWhereARunStands) {
  Tally tally(10);
  tally.CountDecision(0.5, 0.25, 0, 0);
  EXPECT_EQ(ProgressLine(tally, 10, 812.4),
            "1 of 10 decisions, 812 per second, regret 0.5 (random 0.2), reward 0.0, 0 errors");
}

TEST(PlotTest, RefusesAnEmptyCurve) {
  EXPECT_THAT(WriteRegretPlot("/nowhere.svg", "t", "s", {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PlotTest, WritesAnSvgWithAxesAndLegend) {
  if (!CheckGnuplot().ok()) GTEST_SKIP() << "gnuplot is not installed";
  const TempDir folder;
  const std::string path = folder.File("it's.svg");
  const std::vector<CurvePoint> curve = {{.decisions = 10, .regret = 1, .random_regret = 2},
                                         {.decisions = 20, .regret = 1.5, .random_regret = 4}};
  ASSERT_THAT(WriteRegretPlot(path, "ten users' regret", "ldp-colin", curve), IsOk());
  const absl::StatusOr<std::string> svg = ReadFile(path, 1 << 20);
  ASSERT_THAT(svg, IsOk());
  for (const char* text :
       {"<svg", "decisions", "cumulative regret", "uniformly random arm", "ldp-colin"}) {
    EXPECT_THAT(*svg, HasSubstr(text));
  }
}

TEST(PlotTest, ReportsAPathThatCannotBeWritten) {
  if (!CheckGnuplot().ok()) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_THAT(WriteRegretPlot("/no/such/folder/f.svg", "t", "s", {{.decisions = 1}}),
              StatusIs(absl::StatusCode::kUnavailable, "/no/such/folder/f.svg"));
}

TEST(PriorFitTest, RecoversTheGoblinPriorItIsGiven) {
  // Two users, edge 1: Laplacian eigenvalues 0 and 2. With weight 4 and tau^2 = 0.3, P has
  // eigenvalues 0.3 and 0.3/9. An influence W = P^(1/2) has W' W = P; both have eigenvectors (1, 1)
  // and (1, -1).
  const double a = std::sqrt(0.3);
  const double b = std::sqrt(0.3 / 9);
  const std::vector<double> influence = {(a + b) / 2, (a - b) / 2, (a - b) / 2, (a + b) / 2};
  const std::vector<double> similarity = {0, 1, 1, 0};
  const GoblinPrior prior = FitGoblinPrior(influence, similarity, 2);
  EXPECT_DOUBLE_EQ(prior.laplacian_weight, 4);
  EXPECT_NEAR(prior.variance_ratio, 0.3, 1e-12);
  EXPECT_NEAR(OwnVarianceRatio(influence, 2), (0.3 + 0.3 / 9) / 2, 1e-12);
  EXPECT_NEAR(SharedVarianceRatio(influence, 2), 0.15, 1e-12);
}

std::vector<std::string> Taken(std::vector<std::string> words, std::vector<std::string>& rest) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const std::vector<std::string> values = TakeRepeatedFlag(arguments, "set");
  rest.assign(arguments.begin(), arguments.end());
  return values;
}

TEST(CommandLineTest, TakesEverySpellingOfARepeatedFlag) {
  std::vector<std::string> rest;
  EXPECT_THAT(Taken({"fleet", "--set=a=1", "--rounds", "3", "-set", "b=2", "--set", "c=3"}, rest),
              ElementsAre("a=1", "b=2", "c=3"));
  EXPECT_THAT(rest, ElementsAre("fleet", "--rounds", "3"));
}

TEST(CommandLineTest, LeavesOtherFlagsAndWhatFollowsDashesAlone) {
  std::vector<std::string> rest;
  EXPECT_THAT(Taken({"set", "--settle=1", "--set=", "--", "--set=a=1"}, rest), ElementsAre(""));
  EXPECT_THAT(rest, ElementsAre("set", "--settle=1", "--", "--set=a=1"));
}

}  // namespace
}  // namespace bandana::testing
