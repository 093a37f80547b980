// Samples for the status page, their charts, and JSON log lines.
#include "server/ops/observation/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/ops/log_setup.h"
#include "server/ops/observation/chart.h"
#include "server/ops/observation/posterior_ages.h"
#include "server/ops/observation/status_page.h"

namespace bandana::server {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

ModelView Model(const std::string& name, std::uint64_t reports) {
  ModelView model;
  model.name = name;
  model.reports_applied = reports;
  return model;
}

ServerView Holding(std::vector<ModelView> models) {
  ServerView view;
  view.started = kStart;
  view.models = std::move(models);
  return view;
}

TEST(Quantile, LiesInItsBucketInProportion) {
  const std::vector<double> bounds = {1, 2, 4};
  EXPECT_EQ(Quantile(bounds, {0, 0, 0, 0}, 0.5), std::nullopt);
  EXPECT_THAT(Quantile(bounds, {0, 10, 0, 0}, 0.5), Optional(DoubleNear(1.5, 1e-12)));
  EXPECT_THAT(Quantile(bounds, {10, 10, 0, 0}, 0.25), Optional(DoubleNear(0.5, 1e-12)));
  EXPECT_THAT(Quantile(bounds, {0, 0, 4, 0}, 0.99), Optional(DoubleNear(3.98, 1e-12)));
  EXPECT_THAT(Quantile(bounds, {0, 0, 0, 3}, 0.5), Optional(4));
}

TEST(History, TakesTheRatesSinceTheSampleBefore) {
  Metrics metrics;
  History history;
  ModelView open = Model("open", 100);
  open.rewards = RewardTotals{.count = 100, .sum = 10};
  ModelView closed = Model("closed", 5);
  closed.posterior_norm = 0.5;
  history.Tick(Holding({open, closed}), metrics.Totals(), 1, kStart);
  EXPECT_TRUE(history.Read().empty());
  for (int i = 0; i < 50; ++i)
    metrics.OnCall(RpcNamed("bandana.v1.Recommender/Select"), 0, absl::Microseconds(60));
  for (int i = 0; i < 10; ++i)
    metrics.OnCall(RpcNamed("bandana.v1.Recommender/Submit"), 0, absl::Milliseconds(2));
  open.reports_applied = 150;
  open.rewards = RewardTotals{.count = 150, .sum = 50};
  history.Tick(Holding({open, closed}), metrics.Totals(), 2, kStart + absl::Seconds(4));
  EXPECT_TRUE(history.Read().empty());
  history.Tick(Holding({open, closed, Model("new", 9)}), metrics.Totals(), 3,
               kStart + absl::Seconds(10));
  ASSERT_EQ(history.Read().size(), 1u);
  const Sample sample = history.Read()[0];
  EXPECT_DOUBLE_EQ(sample.selections_per_second, 5);
  EXPECT_DOUBLE_EQ(sample.reports_per_second, 1);
  EXPECT_THAT(sample.select_p50, Optional(DoubleNear(75e-6, 1e-9)));  // of 50 to 100 us
  EXPECT_EQ(sample.resident_bytes, 3u);
  EXPECT_DOUBLE_EQ(sample.models.at("open").reports_per_second, 5);
  EXPECT_THAT(sample.models.at("open").reward_mean, Optional(0.8));
  EXPECT_EQ(sample.models.at("closed").reward_mean, std::nullopt);
  EXPECT_THAT(sample.models.at("closed").posterior_norm, Optional(0.5));
  EXPECT_EQ(sample.models.at("new").reports_per_second, 0);
}

TEST(History, KeepsAnHourAndBeginsAnewWhenTheClockIsSetBack) {
  Metrics metrics;
  History history;
  absl::Time now = kStart;
  for (std::size_t i = 0; i < History::kSamples + 10; ++i, now += History::kInterval)
    history.Tick(Holding({}), metrics.Totals(), i, now);
  EXPECT_EQ(history.Read().size(), History::kSamples);
  EXPECT_EQ(history.Read().back().resident_bytes, History::kSamples + 9);
  history.Tick(Holding({}), metrics.Totals(), 1, kStart);
  EXPECT_EQ(history.Read().back().resident_bytes, History::kSamples + 9);
  history.Tick(Holding({}), metrics.Totals(), 2, kStart + History::kInterval);
  EXPECT_EQ(history.Read().back().resident_bytes, 2u);
}

TEST(PosteriorAges, CountFromTheLastMoveWhileEntriesWait) {
  PosteriorAges ages;
  const auto age = [&](std::uint64_t version, std::uint64_t log, int second) {
    ModelView model = Model("m", 0);
    model.posterior_version = version;
    model.log_sequence = log;
    std::vector<ModelView> models = {model};
    ages.See(models, kStart + absl::Seconds(second));
    return models[0].posterior_age_seconds;
  };
  EXPECT_EQ(age(5, 5, 0), 0);
  EXPECT_EQ(age(5, 5, 50), 0);
  EXPECT_EQ(age(5, 9, 51), 1);  // something waits since it was last seen to wait for nothing
  EXPECT_EQ(age(5, 9, 60), 10);
  EXPECT_EQ(age(8, 9, 61), 0);
  EXPECT_EQ(age(8, 9, 63), 2);
  EXPECT_EQ(age(8, 9, 62), 1);
}

TEST(Chart, DrawsStretchesAndLeavesGaps) {
  Chart chart{.title = "a < b", .unit = "ms"};
  for (int i = 0; i < 5; ++i) chart.times.push_back(kStart + absl::Minutes(i));
  chart.lines = {{"one", {1, 2, std::nullopt, 4, std::nan("")}}, {"two", {0, 0, 0, 0, 20'000}}};
  const std::string svg = ToSvg(chart);
  EXPECT_THAT(svg, AllOf(HasSubstr("a &lt; b"), HasSubstr("-4 min"), HasSubstr(">20k<"),
                         HasSubstr("<circle"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  chart.times.resize(1);
  EXPECT_THAT(ToSvg(chart), HasSubstr("no samples yet"));
}

TEST(Chart, BarsAreFullAtTheirLimit) {
  EXPECT_THAT(BarSvg(0.25, "25 of 100"),
              AllOf(HasSubstr("width=\"30.0\""), HasSubstr("25 of 100")));
  EXPECT_THAT(BarSvg(7, "over"), AllOf(HasSubstr("width=\"120.0\""), HasSubstr("#b3402e")));
  EXPECT_THAT(BarSvg(std::nan(""), "odd"), HasSubstr("width=\"120.0\""));
}

// Rewards of a private model have no way onto the page.
TEST(StatusPage, DrawsRewardsOfNonPrivateModelsOnly) {
  Metrics metrics;
  History history;
  ModelView open = Model("open", 0);
  open.rewards = RewardTotals{};
  ModelView closed = Model("closed", 0);
  closed.mode = "LOCAL_REWARD";
  closed.mechanism = "REWARD_RANDOMIZER";
  closed.budget_used = 0.5;
  closed.budget = "500 of 1000 events of one user";
  closed.epsilon_spent_user = 1000;
  ModelView pooled = closed;
  pooled.name = "pooled";
  pooled.users_unknown = true;
  const ServerView view = Holding({open, closed, pooled});
  for (int i = 0; i < 4; ++i)
    history.Tick(view, metrics.Totals(), 1, kStart + i * History::kInterval);
  const std::string page = StatusPage(view, history.Read(), kStart);
  const std::size_t of_open = page.find("<h2>open</h2>");
  const std::size_t of_closed = page.find("<h2>closed</h2>");
  ASSERT_LT(of_open, of_closed);
  EXPECT_THAT(page.substr(of_open, of_closed - of_open), HasSubstr("Reward"));
  EXPECT_THAT(page.substr(of_closed, page.find("<footer>") - of_closed),
              AllOf(HasSubstr("Released posterior"), Not(HasSubstr("Reward"))));
  EXPECT_THAT(page, HasSubstr("500 of 1000 events of one user"));
  EXPECT_THAT(page, AllOf(HasSubstr("spent by one user: &epsilon; = 1000"),
                          HasSubstr("spent by one user: at most &epsilon; = 1000")));
}

TEST(Log, JsonStringsHoldAnyBytes) {
  EXPECT_EQ(JsonString("a \"b\" \\ \n\t\x01"), R"("a \"b\" \\ \n\u0009\u0001")");
  EXPECT_EQ(JsonString("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(JsonString("\xff \xc3 \xc0\xaf \xed\xa0\x80"),
            R"("\u00ff \u00c3 \u00c0\u00af \u00ed\u00a0\u0080")");
}

}  // namespace
}  // namespace bandana::server
