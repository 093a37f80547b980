// The lift on a model's page and among the metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/ops/observation/lift_section.h"
#include "server/ops/observation/metrics.h"

namespace bandana::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LiftView Shown() {
  LiftView lift{.decisions = 12'345, .first = 500, .waiting = 7, .left_out = 3, .needed = 4000};
  lift.values = {{.against = "", .value = 0.31, .low = 0.29, .high = 0.33},
                 {.against = "uniform", .value = 0.11, .low = 0.08, .high = 0.14},
                 {.against = "first", .value = -0.02, .low = -0.05, .high = 0.01}};
  for (int i = 0; i < 3; ++i) {
    lift.points.push_back({.time = absl::FromUnixSeconds(600 * i), .values = lift.values});
  }
  return lift;
}

TEST(LiftPageTest, ValuesIntervalsAndCharts) {
  const std::string html = LiftSection(Shown());
  EXPECT_THAT(html, HasSubstr("Above any arm at random"));
  EXPECT_THAT(html, HasSubstr("0.08"));
  EXPECT_THAT(html, HasSubstr("<span class=\"good\">better</span>"));
  EXPECT_THAT(html, HasSubstr("not seen yet"));
  EXPECT_THAT(html, HasSubstr("after some 4"));
  EXPECT_THAT(html, HasSubstr("7 wait for a reward"));
  EXPECT_THAT(html, HasSubstr("3 are left out"));
  EXPECT_THAT(html, HasSubstr("<svg class=\"chart\""));
}

TEST(LiftPageTest, AWorsePolicyIsCalledSo) {
  LiftView lift = Shown();
  lift.values[1].low = -0.2;
  lift.values[1].high = -0.1;
  EXPECT_THAT(LiftSection(lift), HasSubstr("<span class=\"bad\">worse</span>"));
}

TEST(LiftPageTest, OneSentenceWhereThereIsNone) {
  LiftView lift;
  lift.none = "none: decisions are not kept. decision_log {} does <so>";
  const std::string html = LiftSection(lift);
  EXPECT_THAT(html, HasSubstr("decision_log {} does &lt;so&gt;.</p>"));
  EXPECT_THAT(html, Not(HasSubstr("<table")));
  EXPECT_THAT(LiftSection({.first = 120, .waiting = 4}), HasSubstr("120 of 500 decisions"));
}

TEST(LiftPageTest, SaysWhyNothingIsKnownOfTheArmListedFirst) {
  LiftView lift = Shown();
  EXPECT_THAT(LiftSection(lift), Not(HasSubstr("arms_max")));
  lift.values[2] = {.against = "first", .value = {}, .low = {}, .high = {}};
  EXPECT_THAT(LiftSection(lift), HasSubstr("Nothing is known of the arm listed first: more arms"));
}

TEST(LiftPageTest, ArmsWithoutAChanceAreNamed) {
  LiftView lift = Shown();
  lift.needed.reset();
  for (LiftValueView& value : lift.values) value.value.reset();
  EXPECT_THAT(LiftSection(lift), HasSubstr("Some arms had no chance"));
}

TEST(LiftPageTest, MetricsHaveWhatThereIs) {
  ServerView view;
  ModelView& model = view.models.emplace_back();
  model.name = "m";
  model.mode = "NON_PRIVATE";
  model.lift = Shown();
  model.lift->values[2].value.reset();
  const std::string text = Metrics().Render(view, {});
  EXPECT_THAT(text, HasSubstr("bandana_model_lift{model=\"m\",bound=\"low\",against=\"uniform\"} "
                              "0.08\n"));
  EXPECT_THAT(text, HasSubstr("bandana_model_lift{model=\"m\",bound=\"value\",against=\"nothing\"} "
                              "0.31\n"));
  EXPECT_THAT(text, HasSubstr("bound=\"high\",against=\"first\"} 0.01\n"));
  EXPECT_THAT(text, Not(HasSubstr("bound=\"value\",against=\"first\"")));
  model.lift = LiftView{.none = "none: decisions are not kept"};
  EXPECT_THAT(Metrics().Render(view, {}), Not(HasSubstr("bandana_model_lift{")));
}

}  // namespace
}  // namespace bandana::server
