// The Personalizer API over handlers of a test: what its calls become, and its answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "server/api/api_server.h"
#include "tests/integration/api_handlers.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using Json = nlohmann::json;

constexpr char kActions[] =
    R"("actions":[{"id":"a","features":[{"t":"x"}]},{"id":"b","features":[]},{"id":"c"}])";

class PersonalizerFaceTest : public ::testing::Test {
 protected:
  PersonalizerFaceTest() {
    handlers_.model.set_dimension(16);
    handlers_.model.set_feature_l2_max(1);
    handlers_.model.set_mode(v1::NON_PRIVATE);
    options_.listen = "127.0.0.1:0";
    options_.personalizer.model = "loop";
  }
  void Start(const std::vector<std::string>& models = {}) {
    Principal app{.name = "app", .token_digest = Sha256Of("key")};
    app.roles = Role::kSelect | Role::kReport;
    app.models = models;
    AccessRules rules;
    rules.principals = {app};
    gatekeeper_ = std::make_unique<Gatekeeper>(std::move(rules), SystemClock());
    options_.gatekeeper = gatekeeper_.get();
    auto server = ApiServer::Start(options_, handlers_);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  HttpResult Call(const std::string& path, const std::string& body, const std::string& key = "key",
                  const std::string& method = "POST") {
    return testing::Send(server_->address(), {.method = method,
                                              .path = "/personalizer/" + path,
                                              .headers = {"Ocp-Apim-Subscription-Key: " + key},
                                              .body = body});
  }
  static std::string Rank(const std::string& more) {
    return absl::StrCat("{", more, kActions, "}");
  }
  static std::string ErrorOf(const HttpResult& result, int status, const std::string& code) {
    EXPECT_EQ(result.status, status) << result.body;
    const Json error = Json::parse(result.body, nullptr, false).value("error", Json::object());
    EXPECT_EQ(error.value("code", ""), code) << result.body;
    return error.value("message", "");
  }

  ApiHandlers handlers_;
  ApiServerOptions options_;
  std::unique_ptr<Gatekeeper> gatekeeper_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(PersonalizerFaceTest, RankAndReward) {
  Start();
  const HttpResult rank =
      Call("v1.0/rank", Rank(R"("eventId":"e-1","excludedActions":["a"],"deferActivation":true,)"));
  ASSERT_EQ(rank.status, 201) << rank.body;
  const Json body = Json::parse(rank.body);
  EXPECT_EQ(body["eventId"], "e-1");
  EXPECT_EQ(body["rewardActionId"], "b");
  EXPECT_EQ(body["ranking"], Json::parse(R"([{"id":"b","probability":0.75},
      {"id":"c","probability":0.25},{"id":"a","probability":0}])"));
  const v1::SelectRequest select = handlers_.selects().at(0);
  EXPECT_EQ(select.model(), "loop");
  EXPECT_EQ(select.decision_id(), "e-1");
  EXPECT_TRUE(select.deferred());
  EXPECT_FALSE(select.has_baseline());
  EXPECT_EQ(select.arms().inline_arms().features_size(), 32);

  EXPECT_EQ(Call("v1.0/events/e-1/reward", R"({"value":0.5})").status, 204);
  EXPECT_EQ(handlers_.reports().at(0).outcomes(0).decision_id(), "e-1");
  EXPECT_EQ(handlers_.reports().at(0).outcomes(0).reward(), 0.5);
  EXPECT_THAT(ErrorOf(Call("v1.0/events/e-2/reward", R"({"value":1})"), 404, "ResourceNotFound"),
              HasSubstr("eventId"));
  EXPECT_THAT(ErrorOf(Call("v1.0/events/e-1/reward", R"({"value":"x"})"), 400, "BadRequest"),
              "value: must be a number");
  const Json drawn = Json::parse(Call("v1.0/rank", Rank("")).body);
  EXPECT_EQ(drawn["eventId"].get<std::string>().size(), 32);
}

TEST_F(PersonalizerFaceTest, ErrorsAreThoseOfPersonalizer) {
  Start();
  ErrorOf(Call("v1.0/rank", Rank(""), "wrong"), 401, "Unauthorized");
  EXPECT_THAT(
      ErrorOf(Call("v1.0/rank", R"({"actions":[{"id":"a"},{"id":"a"}]})"), 400, "BadRequest"),
      HasSubstr("actions[1].id"));
  ErrorOf(Call("v1.0/evaluations", "", "key", "GET"), 404, "ResourceNotFound");
  ErrorOf(Call("v2.0/rank", Rank("")), 404, "ResourceNotFound");
  ErrorOf(Call("v1.0/rank", "", "key", "GET"), 405, "BadRequest");
  handlers_.on_select = [](const v1::SelectRequest&) {
    return absl::AlreadyExistsError("decision_id: asked something else before");
  };
  ErrorOf(Call("v1.0/rank", Rank("")), 409, "Conflict");
  handlers_.on_select = [](const v1::SelectRequest&) {
    return absl::InternalError("something broke");
  };
  ErrorOf(Call("v1.0/rank", Rank("")), 500, "InternalServerError");
}

TEST_F(PersonalizerFaceTest, TheKeyNamesTheModelWhereTheSettingsDoNot) {
  options_.personalizer.model.clear();
  Start({"mine"});
  ASSERT_EQ(Call("v1.0/rank", Rank("")).status, 201);
  EXPECT_EQ(handlers_.selects().at(0).model(), "mine");
  server_.reset();
  Start({"mine", "other"});
  EXPECT_THAT(ErrorOf(Call("v1.0/rank", Rank("")), 400, "BadRequest"),
              HasSubstr("api.personalizer.model"));
}

TEST_F(PersonalizerFaceTest, AKeyOfAnotherModelIsForbidden) {
  Start({"mine"});
  ErrorOf(Call("v1.0/rank", Rank("")), 403, "Forbidden");
  ErrorOf(Call("v1.0/events/e/reward", R"({"value":1})"), 403, "Forbidden");
  EXPECT_THAT(handlers_.selects(), IsEmpty());
}

TEST_F(PersonalizerFaceTest, AnApprenticeAnswersTheFirstAction) {
  options_.personalizer.apprentice = true;
  Start();
  const Json body = Json::parse(Call("v1.0/rank", Rank(R"("excludedActions":["a"],)")).body);
  EXPECT_EQ(body["rewardActionId"], "b");
  EXPECT_TRUE(handlers_.selects().at(0).has_baseline());
  EXPECT_EQ(handlers_.selects().at(0).baseline(), 0);
  // A slot has the action that it names.
  ASSERT_EQ(Call("v1.1-preview.3/multislot/rank",
                 Rank(R"("slots":[{"id":"1","baselineAction":"c"},{"id":"2"}],)"))
                .status,
            201);
  EXPECT_EQ(handlers_.selects().at(1).baseline(), 2);
  EXPECT_EQ(handlers_.selects().at(2).baseline(), 0);
}

TEST_F(PersonalizerFaceTest, SlotsAreFilledOneAfterTheOther) {
  Start();
  const HttpResult rank = Call(
      "v1.1-preview.3/multislot/rank",
      Rank(R"("eventId":"page","deferActivation":true,"slots":[{"id":"1","excludedActions":["a"],)"
           R"("features":[{"size":"big"}]},{"id":"2"}],)"));
  ASSERT_EQ(rank.status, 201) << rank.body;
  EXPECT_EQ(Json::parse(rank.body)["slots"],
            Json::parse(R"([{"id":"1","rewardActionId":"b"},{"id":"2","rewardActionId":"a"}])"));
  const auto selects = handlers_.selects();
  ASSERT_EQ(selects.size(), 2);
  EXPECT_NE(selects[0].decision_id(), selects[1].decision_id());
  EXPECT_EQ(selects[0].arms().inline_arms().features_size(), 2 * 16);
  EXPECT_EQ(selects[1].arms().inline_arms().features_size(), 2 * 16);
  EXPECT_EQ(Call("v1.1-preview.3/multislot/events/page/reward",
                 R"({"reward":[{"slotId":"2","value":1},{"slotId":"1","value":0}]})")
                .status,
            204);
  const v1::ReportRequest report = handlers_.reports().at(0);
  EXPECT_EQ(report.outcomes(0).decision_id(), selects[1].decision_id());
  EXPECT_EQ(report.outcomes(1).decision_id(), selects[0].decision_id());
  ErrorOf(Call("v1.1-preview.3/multislot/events/page/reward",
               R"({"reward":[{"slotId":"3","value":1}]})"),
          404, "ResourceNotFound");
  EXPECT_THAT(ErrorOf(Call("v1.1-preview.3/multislot/rank",
                           Rank(R"("excludedActions":["a"],"slots":[{"id":"1"},{"id":"2"},)"
                                R"({"id":"3"}],)")),
                      400, "BadRequest"),
              HasSubstr("no action is left"));
  handlers_.model.set_mode(v1::JOINT);
  EXPECT_THAT(ErrorOf(Call("v1.1-preview.3/multislot/rank", Rank(R"("slots":[{"id":"1"}],)")), 400,
                      "BadRequest"),
              HasSubstr("JOINT"));
}

// An id of another form becomes a digest, which would look random.
TEST_F(PersonalizerFaceTest, EventIdsAreRandomWhereContextsArePrivate) {
  handlers_.model.set_mode(v1::JOINT);
  Start();
  for (const char* weak : {"e-1", "an event of somebody", "page 7 of user 12 and so on ......"}) {
    const std::string rank = Rank(absl::StrCat("\"eventId\":\"", weak, "\","));
    EXPECT_THAT(ErrorOf(Call("v1.0/rank", rank), 400, "BadRequest"),
                HasSubstr("eventId: must be at least 128 random bits"));
  }
  const char* const strong = R"("eventId":"7c9e6679-7425-40de-944b-e07fc1f90ae7",)";
  EXPECT_EQ(Call("v1.0/rank", Rank(strong)).status, 201);
  EXPECT_EQ(Call("v1.0/rank", Rank("")).status, 201);
  ASSERT_EQ(handlers_.selects().size(), 2);
  EXPECT_EQ(handlers_.selects()[0].decision_id(), "7c9e6679-7425-40de-944b-e07fc1f90ae7");
}

TEST_F(PersonalizerFaceTest, ActivationsAreByEvent) {
  Start();
  ASSERT_EQ(Call("v1.0/rank", Rank(R"("eventId":"e-1","deferActivation":true,)")).status, 201);
  EXPECT_EQ(Call("v1.0/events/e-1/activate", "").status, 204);
  EXPECT_THAT(handlers_.activations().at(0).decision_ids(), ElementsAre("e-1"));
  ErrorOf(Call("v1.0/events/e-2/activate", ""), 404, "ResourceNotFound");
  ASSERT_EQ(
      Call("v1.1-preview.3/multislot/rank",
           Rank(R"("eventId":"page","deferActivation":true,"slots":[{"id":"1"},{"id":"2"}],)"))
          .status,
      201);
  EXPECT_EQ(Call("v1.1-preview.3/multislot/events/page/activate", "").status, 204);
  EXPECT_EQ(handlers_.activations().back().decision_ids_size(), 2);
  ErrorOf(Call("v1.1-preview.3/multislot/events/other/activate", ""), 404, "ResourceNotFound");
}

TEST_F(PersonalizerFaceTest, PrivateModelsTakeAnyRewardAndLocalOnesNone) {
  handlers_.model.set_mode(v1::CENTRAL_REWARD);
  Start();
  ASSERT_EQ(Call("v1.0/rank", Rank(R"("eventId":"e-1",)")).status, 201);
  for (const char* odd : {R"({"value":1})", R"({"value":NaN})", R"({"value":null})",
                          R"({"value":"much"})", "{}", "", "{", "7"}) {
    const HttpResult result = Call("v1.0/events/e-1/reward", odd);
    EXPECT_EQ(result.status, 204) << odd;
    EXPECT_EQ(result.body, "") << odd;
  }
  EXPECT_TRUE(handlers_.reports().front().outcomes(0).has_reward());
  EXPECT_FALSE(handlers_.reports().back().outcomes(0).has_reward());
  const std::size_t before = handlers_.reports().size();
  for (const v1::Mode mode : {v1::LOCAL_REWARD, v1::LOCAL_CONTEXT}) {
    handlers_.model.set_mode(mode);
    EXPECT_THAT(ErrorOf(Call("v1.0/events/e-1/reward", R"({"value":1})"), 400, "BadRequest"),
                HasSubstr("use the SDK"));
    EXPECT_THAT(ErrorOf(Call("v1.0/rank", Rank("")), 400, "BadRequest"), HasSubstr("use the SDK"));
  }
  EXPECT_EQ(handlers_.reports().size(), before);
}

TEST_F(PersonalizerFaceTest, SaysWhatItsLoopIs) {
  handlers_.model.mutable_reporting()->mutable_reward_window()->mutable_duration()->set_seconds(90);
  handlers_.model.mutable_reporting()->mutable_reward_window()->set_default_reward(0.25);
  Start();
  const HttpResult result = Call("v1.0/configurations/service", "", "key", "GET");
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(Json::parse(result.body),
            Json::parse(R"({"rewardAggregation":"earliest","learningMode":"Online",)"
                        R"("defaultReward":0.25,"rewardWaitTime":"PT90S"})"));
}

}  // namespace
}  // namespace bandana::server
