// Metrics and status page from plain views.
#include "server/ops/observation/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/ops/observation/status_page.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ModelView Local() {
  ModelView model;
  model.name = "ldp";
  model.mode = "LOCAL_REWARD";
  model.mechanism = "REWARD_RANDOMIZER";
  model.guarantee = "proven";
  model.epsilon = 2.5;
  model.log_sequence = 1'234'567;
  model.applied_sequence = 1'234'560;
  model.reports_rejected = {{"user_limit", 4}, {"token_invalid", 3}};
  return model;
}

ServerView ViewOf(ModelView model) {
  ServerView view;
  view.version = "1.2.3";
  view.started = absl::FromUnixSeconds(1000);
  view.models.push_back(std::move(model));
  return view;
}

// Thirty seconds after the history begins.
HttpResponse Get(std::string_view path, const ServerView& view) {
  const Metrics metrics;
  History history;
  for (int i = 0; i <= 30; ++i)
    history.Tick(view, metrics.Totals(), 1, absl::FromUnixSeconds(1035 + i));
  return Page(path, view, metrics, history, absl::FromUnixSeconds(1065));
}

TEST(Metrics, CountsCallsByMethodAndCode) {
  Metrics metrics;
  metrics.OnCall(RpcNamed("bandana.v1.Recommender/Select"), 0, absl::Microseconds(30));
  metrics.OnCall(RpcNamed("bandana.v1.Recommender/Select"), 0, absl::Microseconds(300));
  metrics.OnCall(RpcNamed("bandana.v1.Recommender/Select"), 5, absl::Seconds(9));
  metrics.OnCall(RpcNamed("bandana.v1.Recommender/Report"), 99, absl::ZeroDuration());
  const std::string text = metrics.Render(ViewOf(Local()), {});
  EXPECT_THAT(text,
              AllOf(HasSubstr("bandana_calls_total{method=\"Select\",code=\"OK\"} 2\n"),
                    HasSubstr("bandana_calls_total{method=\"Select\",code=\"NOT_FOUND\"} 1\n"),
                    HasSubstr("bandana_calls_total{method=\"Report\",code=\"UNKNOWN\"} 1\n"),
                    HasSubstr("bandana_calls_total{method=\"Submit\",code=\"OK\"} 0\n"),
                    HasSubstr("bandana_call_duration_seconds_count{method=\"Select\"} 3\n"),
                    Not(HasSubstr("ABORTED"))));
}

TEST(Metrics, CountsWaitsByClassAndCallsOfAdmin) {
  Metrics metrics;
  metrics.OnStart(RpcNamed("bandana.v1.Recommender/BatchSelect"), absl::Microseconds(30));
  metrics.OnStart(RpcNamed("bandana.v1.Recommender/GetModel"), absl::Microseconds(30));
  metrics.OnStart(RpcNamed("bandana.v1.Recommender/Submit"), absl::Milliseconds(30));
  const Rpc& checkpoint = RpcNamed("bandana.v1.Admin/Checkpoint");
  metrics.OnCall(checkpoint, 0, absl::Milliseconds(2));
  metrics.OnCall(checkpoint, 0, absl::Milliseconds(2));
  metrics.OnCall(checkpoint, 16, absl::ZeroDuration());
  EXPECT_THAT(
      metrics.Render(ViewOf(Local()), {}),
      AllOf(HasSubstr("bandana_call_wait_seconds_count{class=\"select\"} 2\n"),
            HasSubstr("bandana_call_wait_seconds_bucket{class=\"report\",le=\"0.025\"} 0\n"),
            HasSubstr("bandana_call_wait_seconds_bucket{class=\"report\",le=\"0.05\"} 1\n"),
            HasSubstr("bandana_admin_calls_total{code=\"OK\",method=\"Checkpoint\"} 2\n"),
            HasSubstr(
                "bandana_admin_calls_total{code=\"UNAUTHENTICATED\",method=\"Checkpoint\"} 1\n"),
            HasSubstr("bandana_admin_call_duration_seconds_count 3\n")));
}

TEST(Metrics, SamplesHowFarModelsAreBehind) {
  Metrics metrics;
  ServerView view = ViewOf(Local());  // 7 entries behind
  view.models[0].log_queue = 300;
  metrics.Tick(view);
  view.models[0].log_queue = 0;
  metrics.Tick(view);
  EXPECT_THAT(metrics.Render(view, {}),
              AllOf(HasSubstr("bandana_apply_lag_entries_bucket{le=\"4\"} 0\n"),
                    HasSubstr("bandana_apply_lag_entries_bucket{le=\"16\"} 2\n"),
                    HasSubstr("bandana_log_queue_records_bucket{le=\"0\"} 1\n"),
                    HasSubstr("bandana_log_queue_records_bucket{le=\"1024\"} 2\n"),
                    HasSubstr("bandana_model_log_queue_records{model=\"ldp\"} 0\n")));
}

TEST(Metrics, ShowsConnectionsByListenerAndReason) {
  ServerView view = ViewOf(Local());
  view.connections["listen"].open = 5;
  view.connections["listen"].refused[static_cast<int>(Refusal::kGroupFull)] = 9;
  EXPECT_THAT(
      Get("/metrics", view).body,
      AllOf(
          HasSubstr("bandana_connections_open{listener=\"listen\"} 5\n"),
          HasSubstr(
              "bandana_connections_refused_total{listener=\"listen\",reason=\"address_full\"} 9\n"),
          Not(HasSubstr("admin_listen"))));
  view.connections["admin_listen"].open = 1;
  EXPECT_THAT(Get("/metrics", view).body,
              HasSubstr("bandana_connections_open{listener=\"admin_listen\"} 1\n"));
}

// A caller may open a connection for each report.
TEST(Metrics, HidesDescriptorsWithTheListenersOfReports) {
  ServerView view = ViewOf(Local());
  EXPECT_THAT(Get("/metrics", view).body, HasSubstr("\nprocess_open_fds "));
  view.leaves_out_descriptors = true;
  EXPECT_THAT(Get("/metrics", view).body,
              AllOf(Not(HasSubstr("process_open_fds")), HasSubstr("\nprocess_max_fds ")));
}

TEST(StatusPage, ShowsWhatModelsOfEffectsHaveLearnt) {
  ModelView model = Local();
  EXPECT_THAT(Get("/", ViewOf(model)).body, Not(HasSubstr("Prior variance")));
  EffectLook arm{.name = "arm", .blocks = 1234, .prior_variance = 0.03};
  arm.largest = {{.name = "arm 7", .mean = 0.314, .width = 0.042}, {.name = "", .mean = 0.25}};
  EffectLook group{.name = "group_country", .vector = true};
  group.largest = {{.name = "<fr>", .mean = 0.5}};
  model.looks = {arm, group};
  EXPECT_THAT(
      Get("/", ViewOf(model)).body,
      AllOf(HasSubstr("arm 7: +0.314 &plusmn; 0.042 &middot; <small>unnamed</small>: +0.25"),
            HasSubstr("1&#8239;234"), HasSubstr("&lt;fr&gt;: 0.5</td>")));
}

TEST(Metrics, ShowsWhereReleasedRewardsLie) {
  ModelView model = Local();
  EXPECT_THAT(Get("/metrics", ViewOf(model)).body, Not(HasSubstr("released_rewards_total{")));
  model.places = WindowPlaces{.below = 1, .inside = 20, .above = 300};
  const auto line = [](const char* place, const char* count) {
    return HasSubstr(absl::StrCat("bandana_model_released_rewards_total{model=\"ldp\",place=\"",
                                  place, "\"} ", count, "\n"));
  };
  EXPECT_THAT(Get("/metrics", ViewOf(model)).body,
              AllOf(line("below", "1"), line("inside", "20"), line("above", "300")));
}

TEST(Metrics, ShowsHowNamedValuesCame) {
  ModelView model = Local();
  EXPECT_THAT(Get("/metrics", ViewOf(model)).body, Not(HasSubstr("feature_values")));
  model.fields = {{.name = "price", .values = 9, .missing = 1, .unknown = 0, .out_of_bounds = 3}};
  const std::string metrics = Get("/metrics", ViewOf(model)).body;
  EXPECT_THAT(metrics, HasSubstr("bandana_model_feature_values_total{model=\"" + model.name +
                                 "\",field=\"price\"} 9"));
  EXPECT_THAT(metrics, HasSubstr("bandana_model_feature_values_odd_total{model=\"" + model.name +
                                 "\",field=\"price\",kind=\"out_of_bounds\"} 3"));
  EXPECT_THAT(Get("/", ViewOf(model)).body,
              HasSubstr("<tr><td>price</td><td>9</td><td>1</td><td>0</td><td>3</td></tr>"));
}

TEST(Metrics, ShowsModelsWithWhatTheyPromise) {
  const std::string text = Get("/metrics", ViewOf(Local())).body;
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("bandana_model_info{model=\"ldp\",mode=\"LOCAL_REWARD\",mechanism=\"REWARD_"
                      "RANDOMIZER\",guarantee=\"proven\",research=\"false\"} 1\n"),
            HasSubstr(
                "bandana_model_reports_rejected_total{model=\"ldp\",reason=\"user_limit\"} 4\n"),
            HasSubstr("bandana_model_apply_lag_entries{model=\"ldp\"} 7\n"),
            HasSubstr("bandana_model_not_learning{model=\"ldp\",reason=\"disk\"} 0\n"),
            HasSubstr("bandana_model_log_sequence{model=\"ldp\"} 1234567\n"),
            HasSubstr("bandana_model_epsilon_per_event{model=\"ldp\"} 2.5\n"),
            HasSubstr("bandana_build_info{version=\"1.2.3\"} 1\n"),
            HasSubstr("process_start_time_seconds 1000\n")));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes "));
  EXPECT_THAT(text, Not(HasSubstr("process_resident_memory_bytes 0\n")));
}

TEST(Metrics, AModelThatIsGoneLeavesNoSeries) {
  ServerView view = ViewOf(Local());
  view.models.clear();
  EXPECT_THAT(Get("/metrics", view).body, Not(HasSubstr("bandana_model_")));
}

TEST(Readyz, SaysWhyNot) {
  ServerView view = ViewOf(Local());
  EXPECT_EQ(Get("/readyz", view).status, 200);
  // New users are refused; selections and other reports are not.
  view.models[0].refusals = {{.reason = "users", .text = "full", .remedy = "raise users_max"}};
  EXPECT_EQ(Get("/readyz", view).status, 200);
  EXPECT_EQ(Get("/readyz", view).body, "ready\nldp: users: full\n");
  view.models[0].refusals = {{.reason = "log", .text = "broken", .remedy = "mend it"}};
  view.models[0].failure = "broken";
  EXPECT_EQ(Get("/readyz", view).status, 503);
  EXPECT_EQ(Get("/readyz", view).body, "ldp: log: broken\n");
  EXPECT_EQ(Get("/healthz", view).status, 200);
  view.models.push_back(view.models[0]);
  view.models[1].name = "other";
  view.models[1].failure = "";  // it serves
  EXPECT_EQ(Get("/readyz", view).status, 200);
  view.starting = true;
  EXPECT_EQ(Get("/readyz", view).status, 503);
  EXPECT_THAT(Get("/readyz", view).body, HasSubstr("starting\n"));
  view.draining = true;
  EXPECT_EQ(Get("/readyz", view).body, "draining\n");
}

TEST(StatusPage, ShowsModelsAndEscapesText) {
  ServerView view = ViewOf(Local());
  view.models[0].failure = "<script>&";
  view.models[0].research = true;
  const std::string page = Get("/", view).body;
  EXPECT_THAT(page,
              AllOf(HasSubstr("<a href=\"/models/ldp\">ldp</a>"), HasSubstr("&epsilon; = 2.5"),
                    HasSubstr("proven, research"), HasSubstr("up 1m5s"),
                    HasSubstr("&lt;script&gt;&amp;"), Not(HasSubstr("<script"))));
}

ServerView Holding(int models) {
  ServerView view = ViewOf(Local());
  view.models.clear();
  for (int i = 0; i < models; ++i) {
    view.models.push_back(Local());
    view.models.back().name = absl::StrCat("model-", 100 + i);
  }
  return view;
}

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

TEST(StatusPage, SaysFirstWhetherAllIsRight) {
  const auto opening = [](const ServerView& view) {
    const std::string page = Get("/", view).body;
    return page.substr(0, page.find("<p class=\"about\">"));
  };
  EXPECT_THAT(opening(Holding(0)), HasSubstr("<b>Serving.</b> No models yet"));
  EXPECT_THAT(opening(Holding(1)), HasSubstr("<b>Serving.</b> The model is all right.</p>"));
  ServerView view = Holding(20);
  EXPECT_THAT(opening(view), AllOf(HasSubstr("<title>bandana-server: all right</title>"),
                                   HasSubstr("banner good"), Not(HasSubstr("<li>")),
                                   HasSubstr("<b>Serving.</b> All 20 models are all right.</p>")));
  // A reason that two models share is said once.
  for (const std::size_t i : {3, 7}) {
    view.models[i].failure = "no space for the log";
    view.models[i].passes = true;
    view.models[i].refusals = {{.reason = "disk",
                                .text = "no space for the log",
                                .remedy = "Free space on the disk",
                                .since = std::nullopt}};
  }
  view.models[9].posterior_age_seconds = 75;
  EXPECT_THAT(
      opening(view),
      AllOf(HasSubstr("<title>bandana-server: not all right</title>"), HasSubstr("banner bad"),
            HasSubstr("<b>Serving.</b> 3 of 20 models are not all right:</p>"),
            HasSubstr("<li><a href=\"/models/model-103\">model-103</a>, <a "
                      "href=\"/models/model-107\">model-107</a>: not learning. <span>No space for "
                      "the log. Free space on the disk"),
            HasSubstr("<a href=\"/models/model-109\">model-109</a>: behind. <span>7 entries")));
  for (ModelView& model : view.models) {
    model.failure = "the log has failed";
    model.passes = false;
  }
  EXPECT_THAT(opening(view), HasSubstr("<b>Not serving.</b> 20 of 20 models are not all right:"));
  view.draining = true;
  EXPECT_THAT(opening(view), HasSubstr("<b>Draining.</b>"));
}

// A page of many models has a row for each and no charts of any.
TEST(StatusPage, LeavesTheDetailsOfManyModelsToTheirOwnPages) {
  constexpr int kFull = kModelsInFull;
  const std::string few = Get("/", Holding(kFull)).body;
  EXPECT_EQ(Count(few, "<th class=\"name\""), kModelsInFull);
  EXPECT_EQ(Count(few, "<svg class=\"chart\""), 2 * 3 + 3 * kModelsInFull);
  const std::string many = Get("/", Holding(kFull + 1)).body;
  EXPECT_EQ(Count(many, "<th class=\"name\""), kModelsInFull + 1);
  EXPECT_EQ(Count(many, "<svg class=\"chart\""), 2u * 3u);
  EXPECT_EQ(LooksOn("/", kModelsInFull).values, 5u);
  EXPECT_EQ(LooksOn("/", kModelsInFull + 1).values, 0u);
}

TEST(ModelPage, HasWhatThePageOfManyModelsLeavesOut) {
  ServerView view = Holding(20);
  view.models[4].failure = "no space <for> the log";
  view.models[4].refusals = {
      {.reason = "log", .text = "no space <for> the log", .remedy = "Restart the server"}};
  view.models[4].looks = {EffectLook{.name = "arm"}};
  const HttpResponse response = Get("/models/model-104", view);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, AllOf(HasSubstr("<h1>model-104</h1>"), HasSubstr("<b>failed</b>"),
                                   HasSubstr("No space &lt;for&gt; the log. Restart the server"),
                                   HasSubstr("user_limit 4"), HasSubstr("Prior variance"),
                                   Not(HasSubstr("model-103")), Not(HasSubstr("<script"))));
  EXPECT_EQ(Count(response.body, "<svg class=\"chart\""), 2u * 3u);
  EXPECT_THAT(Get("/models/model-105", view).body, HasSubstr("<b>serving</b>"));
  for (const char* path : {"/models/", "/models/model-10", "/models/model-104/", "/models"})
    EXPECT_EQ(Get(path, view).status, 404) << path;
  EXPECT_EQ(LooksOn("/models/model-104", 20).model, "model-104");
  EXPECT_EQ(LooksOn("/metrics", 1).values, 0u);
}

// Nothing is known of it, not even that it is not private.
TEST(StatusPage, SaysNothingButTheFailureOfAModelThatDidNotOpen) {
  ServerView view = Holding(2);
  view.models[0] = ModelView();
  view.models[0].name = "closed";
  view.models[0].failure = "checkpoint is damaged";
  const std::string page = Get("/", view).body;
  EXPECT_THAT(page, AllOf(HasSubstr("1 of 2 models is not all right:"),
                          HasSubstr("closed</a>: failed. <span>Checkpoint is damaged."),
                          Not(HasSubstr(">non-private<"))));
  EXPECT_EQ(Count(page, "<dl>"), 1u);
  EXPECT_THAT(Get("/models/closed", view).body,
              AllOf(HasSubstr("<b>failed</b>"), Not(HasSubstr("<dl>"))));
}

TEST(StatusPage, DrawsNoEmptyCharts) {
  const Metrics metrics;
  const std::string page =
      Page("/", Holding(1), metrics, History(), absl::FromUnixSeconds(1065)).body;
  EXPECT_EQ(Count(page, "<svg class=\"chart\""), 0u);
  EXPECT_EQ(Count(page, "no samples yet"), 3u);
}

TEST(Pages, UnknownPathsAreNotFound) { EXPECT_EQ(Get("/admin", ViewOf(Local())).status, 404); }

}  // namespace
}  // namespace bandana::server
