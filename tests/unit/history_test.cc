// Samples for the status page, their charts, and JSON log lines.
#include "server/ops/observation/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/ops/log_setup.h"
#include "server/ops/observation/chart.h"
#include "server/ops/observation/model_page.h"
#include "server/ops/observation/posterior_ages.h"
#include "server/ops/observation/status_page.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::FloatEq;
using ::testing::Optional;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

ModelView Model(const std::string& name, std::uint64_t reports) {
  ModelView model;
  model.name = name;
  model.mode = "NON_PRIVATE";
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
  EXPECT_TRUE(history.Recent().samples.empty());
  for (int i = 0; i < 50; ++i)
    metrics.OnCall(RpcNamed("bandana.v1.Recommender/Select"), 0, absl::Microseconds(60));
  for (int i = 0; i < 10; ++i)
    metrics.OnCall(RpcNamed("bandana.v1.Recommender/Submit"), 0, absl::Milliseconds(2));
  open.reports_applied = 150;
  open.rewards = RewardTotals{.count = 150, .sum = 50};
  open.log_sequence = 7;
  history.Tick(Holding({open, closed}), metrics.Totals(), 2, kStart + absl::Milliseconds(400));
  EXPECT_TRUE(history.Recent().samples.empty());
  history.Tick(Holding({open, closed, Model("new", 9)}), metrics.Totals(), 3,
               kStart + absl::Seconds(10));
  const Series recent = history.Recent();
  ASSERT_EQ(recent.samples.size(), 1u);
  const Sample& sample = recent.samples[0];
  EXPECT_DOUBLE_EQ(sample.selections_per_second, 5);
  EXPECT_DOUBLE_EQ(sample.reports_per_second, 1);
  EXPECT_THAT(sample.select_p50, Optional(DoubleNear(75e-6, 1e-9)));  // of 50 to 100 us
  EXPECT_EQ(sample.resident_bytes, 3u);
  const auto of = [&recent](const char* name) { return recent.models.at(name).at(0); };
  EXPECT_THAT(of("open").reports_per_second, Optional(FloatEq(5)));
  EXPECT_THAT(of("open").reward_mean, Optional(FloatEq(0.8F)));
  EXPECT_THAT(of("open").apply_lag, Optional(FloatEq(7)));
  EXPECT_EQ(of("closed").reward_mean, std::nullopt);
  EXPECT_THAT(of("closed").posterior_norm, Optional(FloatEq(0.5F)));
  EXPECT_EQ(of("new").reports_per_second, std::nullopt);
}

// Ticks of a server come a little late, and a clock that is slewed makes them come a little early.
TEST(History, TakesASampleEverySecondWhateverTheTicksJitter) {
  for (const absl::Duration tick : {absl::Milliseconds(999), absl::Milliseconds(1030)}) {
    const Metrics metrics;
    History history;
    for (int i = 0; i <= 60; ++i) history.Tick(Holding({}), metrics.Totals(), 1, kStart + i * tick);
    EXPECT_EQ(history.Recent().samples.size(), 60u);
    EXPECT_EQ(history.Hour().samples.size(), 6u);
  }
}

TEST(History, KeepsFiveMinutesOfSecondsAndAnHourOfTenSeconds) {
  EXPECT_EQ(History::kRecent.span(), absl::Minutes(5));
  EXPECT_EQ(History::kHour.span(), absl::Hours(1));
  const Metrics metrics;
  History history;
  constexpr int kSeconds = 2 * 3600;
  for (int i = 0; i <= kSeconds; ++i) {
    // One report more each second: a rate of i in second i.
    const auto reports = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(i + 1) / 2;
    history.Tick(Holding({Model("m", reports)}), metrics.Totals(), static_cast<std::uint64_t>(i),
                 kStart + absl::Seconds(i));
  }
  const Series recent = history.Recent();
  const Series hour = history.Hour();
  ASSERT_EQ(recent.samples.size(), 300u);
  ASSERT_EQ(recent.models.at("m").size(), 300u);
  ASSERT_EQ(hour.samples.size(), 360u);
  for (int i = 0; i < 300; ++i) {
    const int second = kSeconds - 299 + i;
    EXPECT_EQ(recent.samples[static_cast<std::size_t>(i)].at, kStart + absl::Seconds(second));
    EXPECT_THAT(recent.models.at("m")[static_cast<std::size_t>(i)].reports_per_second,
                Optional(FloatEq(static_cast<float>(second))));
  }
  // The mean of ten seconds.
  EXPECT_EQ(hour.samples.front().at, kStart + absl::Seconds(kSeconds - 3590));
  EXPECT_EQ(hour.samples.back().resident_bytes, static_cast<std::uint64_t>(kSeconds));
  EXPECT_THAT(hour.models.at("m").back().reports_per_second, Optional(FloatEq(kSeconds - 4.5F)));
}

TEST(History, BeginsAnewWhenTheClockIsSetBack) {
  const Metrics metrics;
  History history;
  const auto tick = [&](int second, std::uint64_t bytes) {
    history.Tick(Holding({Model("m", 1)}), metrics.Totals(), bytes, kStart + absl::Seconds(second));
  };
  for (int i = 0; i < 9; ++i) tick(100 + i, 1);
  EXPECT_EQ(history.Recent().samples.size(), 8u);
  tick(0, 2);
  EXPECT_TRUE(history.Recent().samples.empty());
  EXPECT_TRUE(history.Recent().models.empty());
  tick(1, 3);
  const Series recent = history.Recent();
  ASSERT_EQ(recent.samples.size(), 1u);
  EXPECT_EQ(recent.samples[0].resident_bytes, 3u);
  EXPECT_EQ(recent.models.at("m").size(), 1u);
}

TEST(History, HasGapsBeforeAModelAndNothingAfterIt) {
  const Metrics metrics;
  History history;
  const auto tick = [&](int second, std::vector<ModelView> models) {
    history.Tick(Holding(std::move(models)), metrics.Totals(), 1, kStart + absl::Seconds(second));
  };
  tick(0, {Model("old", 5)});
  tick(1, {Model("old", 5)});
  tick(2, {Model("old", 5), Model("new", 3)});
  tick(3, {Model("old", 2), Model("new", 4)});  // "old" was deleted and made again
  const Series both = history.Recent();
  ASSERT_EQ(both.models.at("new").size(), 3u);
  EXPECT_EQ(both.models.at("new")[0].apply_lag, std::nullopt);
  EXPECT_EQ(both.models.at("new")[1].reports_per_second, std::nullopt);
  EXPECT_THAT(both.models.at("new")[2].reports_per_second, Optional(FloatEq(1)));
  EXPECT_THAT(both.models.at("old")[1].reports_per_second, Optional(FloatEq(0)));
  EXPECT_EQ(both.models.at("old")[2].reports_per_second, std::nullopt);
  tick(4, {Model("new", 4)});
  EXPECT_EQ(history.Recent().models.count("old"), 0u);
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
  EXPECT_THAT(svg, AllOf(HasSubstr("a &lt; b"), HasSubstr(">-4 min<"), HasSubstr(">20k<"),
                         HasSubstr("<circle"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  for (int i = 0; i < 5; ++i) chart.times[static_cast<std::size_t>(i)] = kStart + absl::Seconds(i);
  EXPECT_THAT(ToSvg(chart), HasSubstr(">-4 s<"));
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
    history.Tick(view, metrics.Totals(), 1, kStart + i * absl::Seconds(10));
  const std::string page = StatusPage(view, history.Recent(), history.Hour(), kStart);
  const std::size_t of_open = page.find("<h2><a href=\"/models/open\">");
  const std::size_t of_closed = page.find("<h2><a href=\"/models/closed\">");
  ASSERT_NE(of_open, std::string::npos);
  ASSERT_LT(of_open, of_closed);
  ASSERT_NE(of_closed, std::string::npos);
  EXPECT_THAT(page.substr(of_open, of_closed - of_open), HasSubstr("Reward"));
  EXPECT_THAT(page.substr(of_closed, page.find("<footer>") - of_closed),
              AllOf(HasSubstr("Released posterior"), Not(HasSubstr("Reward"))));
  EXPECT_THAT(page, HasSubstr("500 of 1000 events of one user"));
  EXPECT_THAT(page, AllOf(HasSubstr("Spent by one user</dt><dd>&epsilon; = 1000"),
                          HasSubstr("Spent by one user</dt><dd>at most &epsilon; = 1000")));
  const auto alone = [&](const ModelView& model) {
    return ModelPage(model, history.Recent(), history.Hour(), kStart);
  };
  EXPECT_THAT(alone(open), HasSubstr(">Reward <"));
  EXPECT_THAT(alone(closed), AllOf(HasSubstr("Released posterior"), Not(HasSubstr("Reward"))));
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
