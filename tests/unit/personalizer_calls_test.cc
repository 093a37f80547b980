// The Personalizer API: what calls become, and the hashed features of models without a schema.
#include "server/api/personalizer_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/api/hashed_features.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kRank[] = R"({
  "eventId": "e-1", "deferActivation": true, "excludedActions": ["b"],
  "contextFeatures": [{"user": {"device": "ios", "age": 33}}, {"hour": 13},
                      {"bandana": {"user": "ann"}}],
  "actions": [{"id": "a", "features": [{"article": {"tag": ["x", "y"], "price": 3.5}}]},
              {"id": "b", "features": []}, {"id": "c"}]})";

v1::GetModelResponse Model(int dimension, double l2_max = 1) {
  v1::GetModelResponse model;
  model.set_model("news");
  model.set_dimension(static_cast<std::uint32_t>(dimension));
  model.set_feature_l2_max(l2_max);
  return model;
}

RankPart PartOf(const RankCall& call) {
  return {.decision_id = DecisionIdOf(call.event_id), .offered = Offered(call, {})};
}

TEST(PersonalizerCalls, ARankIsADecision) {
  const auto call = ParseRank(kRank, false, false);
  ASSERT_THAT(call, IsOk());
  const RankPart part = PartOf(*call);
  EXPECT_THAT(part.offered, ElementsAre(0, 2));
  const auto request = DecisionOf(*call, part, Model(32));
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->user(), "ann");
  EXPECT_EQ(request->decision_id(), "e-1");
  EXPECT_TRUE(request->deferred());
  // As many ranks whatever is offered: answers are kept in room for so many.
  EXPECT_EQ(request->top_k(), 16);
  EXPECT_EQ(request->arms().inline_arms().features_size(), 64);
  EXPECT_FALSE(request->has_baseline());

  v1::SelectResponse selection;
  selection.add_positions(1);
  selection.add_propensities(0.75);
  const auto ranking = RankingOf(*call, part, selection);
  EXPECT_EQ(ranking.dump(), R"([{"id":"c","probability":0.75},{"id":"a","probability":0.25},)"
                            R"({"id":"b","probability":0.0}])");
}

TEST(PersonalizerCalls, NamePlacesInTheCallersTerms) {
  const auto parse = [](const std::string& text, bool slots = false) {
    return ParseRank(text, slots, false).status();
  };
  struct Row {
    std::string text, message;
  };
  const std::vector<Row> rows = {
      {"{", "not JSON"},
      {"[]", "the body must be an object"},
      {"{}", "actions: must be a list"},
      {R"({"actions":[]})", "actions: must be a list of 1 to"},
      {R"({"actions":[7]})", "actions[0]: must be an object"},
      {R"({"actions":[{"id":"a"},{"id":7}]})", "actions[1].id: must be a text"},
      {R"({"actions":[{"id":"a"},{"id":"a"}]})", "actions[1].id: is that of another action"},
      {R"({"actions":[{"id":"a"}],"eventId":""})", "eventId: must be a text"},
      {R"({"actions":[{"id":"a"}],"eventId":7})", "eventId: must be a text"},
      {R"({"actions":[{"id":"a"}],"contextFeatures":7})", "contextFeatures: must be a list"},
      {R"({"actions":[{"id":"a"}],"excludedActions":[1]})", "excludedActions[0]: must be a text"},
      {R"({"actions":[{"id":"a"}],"deferActivation":"yes"})", "deferActivation: must be"},
      {R"({"actions":[{"id":"a"}],"contextFeatures":[{"bandana":{"user":""}}]})",
       "contextFeatures.bandana.user: must be a text"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(parse(row.text), StatusIs(absl::StatusCode::kInvalidArgument, row.message))
        << row.text;
  }
  EXPECT_THAT(parse(R"({"actions":[{"id":"a"}]})", true),
              StatusIs(absl::StatusCode::kInvalidArgument, "slots: must be a list"));
  EXPECT_THAT(parse(R"({"actions":[{"id":"a"}],"slots":[{"id":"1"},{"id":"1"}]})", true),
              StatusIs(absl::StatusCode::kInvalidArgument, "slots[1].id: is that of another"));
  EXPECT_THAT(parse(R"({"actions":[{"id":"a"}],"slots":[{"id":"1"},{"id":"2"}]})", true),
              StatusIs(absl::StatusCode::kInvalidArgument, "slots: are more than actions"));
  EXPECT_THAT(parse(R"({"actions":[{"id":"a"}],"slots":[{"id":"1","baselineAction":"b"}]})", true),
              StatusIs(absl::StatusCode::kInvalidArgument, "slots[0].baselineAction: no action"));
  auto call = ParseRank(R"({"actions":[{"id":"a","features":[7]}]})", false, false);
  ASSERT_THAT(call, IsOk());
  EXPECT_THAT(DecisionOf(*call, PartOf(*call), Model(32)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "actions[0].features[0]: must be"));
  EXPECT_THAT(DecisionOf(*call, PartOf(*call), Model(4)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model news has 4 features"));
  call->excluded = {"a"};
  EXPECT_THAT(DecisionOf(*call, PartOf(*call), Model(32)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "excludedActions: no action is left"));
}

TEST(PersonalizerCalls, ASchemaTakesWhatItsFieldsName) {
  const auto call = ParseRank(kRank, false, false);
  ASSERT_THAT(call, IsOk());
  v1::GetModelResponse model = Model(16);
  v1::FeatureSchema& schema = *model.mutable_features();
  schema.add_context()->set_name("device");
  schema.add_context()->set_name("user_age");
  schema.add_context()->set_name("missing");
  schema.add_arm()->set_name("price");
  schema.add_arm()->set_name("article_tag");
  const auto request = DecisionOf(*call, PartOf(*call), model);
  ASSERT_THAT(request, IsOk());
  const auto& context = request->context().fields();
  EXPECT_EQ(context.size(), 2);
  EXPECT_EQ(context.at("device").string_value(), "ios");
  EXPECT_EQ(context.at("user_age").number_value(), 33);
  const auto& arms = request->arms().named_arms().arms();
  ASSERT_EQ(arms.size(), 2);
  EXPECT_EQ(arms[0].id(), "a");
  EXPECT_EQ(arms[0].features().fields().at("price").number_value(), 3.5);
  EXPECT_EQ(arms[0].features().fields().at("article_tag").list_value().values_size(), 2);
  EXPECT_EQ(arms[1].features().fields().size(), 0);
}

TEST(PersonalizerCalls, OddRewardsOfPrivateModelsAreMissing) {
  const auto value = [](const std::string& body, bool any) {
    return ParseRewards(body, false, any);
  };
  EXPECT_EQ((*value(R"({"value":0.5})", false))[0].reward, 0.5);
  for (const char* odd :
       {"", "{", "[]", "{}", R"({"value":null})", R"({"value":NaN})", R"({"value":"1"})",
        R"({"value":[1]})", R"({"value":true})", "{\"value\":\"\xff\"}"}) {
    const auto taken = value(odd, true);
    ASSERT_THAT(taken, IsOk()) << odd;
    EXPECT_EQ((*taken)[0].reward, std::nullopt) << odd;
    EXPECT_THAT(value(odd, false).status(), StatusIs(absl::StatusCode::kInvalidArgument, ""))
        << odd;
  }
  // Beyond every range, as other numbers are.
  EXPECT_EQ((*value(R"({"value":1e999})", true))[0].reward, std::numeric_limits<double>::max());
  EXPECT_THAT(value(R"({"value":1e999})", false).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, ""));
  for (const char* odd : {"\"x\"", "NaN", "null"}) {
    const auto slots = ParseRewards(
        absl::StrCat(R"({"reward":[{"slotId":"1","value":1},{"slotId":"2","value":)", odd, "}]}"),
        true, true);
    ASSERT_THAT(slots, IsOk()) << odd;
    EXPECT_EQ((*slots)[0].reward, 1);
    EXPECT_EQ((*slots)[1].reward, std::nullopt);
  }
}

TEST(PersonalizerCalls, DecisionIdsFitAndDiffer) {
  EXPECT_EQ(DecisionIdOf("e-1"), "e-1");
  EXPECT_EQ(DecisionIdOf(std::string(65, 'x')).size(), 64);
  EXPECT_EQ(DecisionIdOf("a b").size(), 64);
  EXPECT_NE(DecisionIdOf("a", "bc"), DecisionIdOf("ab", "c"));
  EXPECT_EQ(DecisionIdOf("a", "1").size(), 64);
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> VectorOf(const std::string& context, const std::string& action, double l2_max,
                             int dimension) {
  std::vector<HashedFeature> c, a;
  EXPECT_THAT(AppendHashed(nlohmann::json::parse(context), "c", false, c), IsOk());
  EXPECT_THAT(AppendHashed(nlohmann::json::parse(action), "a", false, a), IsOk());
  std::vector<double> x(static_cast<std::size_t>(dimension));
  HashedVector(c, a, l2_max, dimension, x.data());
  return x;
}

TEST(HashedFeatures, NormsStayWithinTheBound) {
  for (const int dimension : {8, 9, 25, 256}) {
    for (const double l2_max : {1.0, 0.01, 1e6}) {
      const auto x = VectorOf(R"([{"u":{"d":"ios","n":1e300}},{"h":-7,"on":true}])",
                              R"([{"tags":["a","b","c"],"price":20}])", l2_max, dimension);
      EXPECT_LE(std::sqrt(Dot(x, x)), l2_max);
      EXPECT_GT(std::sqrt(Dot(x, x)), 0.99 * l2_max);
      const auto bare = VectorOf("[]", "[]", l2_max, dimension);
      EXPECT_NEAR(std::sqrt(Dot(bare, bare)), l2_max / 2, 1e-6 * l2_max);
    }
  }
}

TEST(HashedFeatures, TinyNumbersStayWithinTheBound) {
  for (const char* tiny : {"1e-300", "1.7e-162", "2.7e-162", "3.3e-162", "1e-158", "5e-324"}) {
    for (const int dimension : {8, 64}) {
      const std::string features = absl::StrCat(R"([{"n":)", tiny, "}]");
      const auto x = VectorOf(features, R"([{"tag":"a"}])", 1, dimension);
      EXPECT_LE(Dot(x, x), 1) << tiny;
      EXPECT_GT(Dot(x, x), 0.99) << tiny;
      const auto own = VectorOf("[]", features, 1, dimension);
      EXPECT_NEAR(Dot(own, own), 0.5, 1e-6) << tiny;
    }
  }
}

// Equal words are equal numbers on every machine and in every version: learnt effects stay.
TEST(HashedFeatures, AreTheSameForEver) {
  const auto x = VectorOf(R"([{"device":"ios"}])", R"([{"tag":"x","price":2}])", 1, 16);
  std::vector<int> places;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0) places.push_back((x[i] > 0 ? 1 : -1) * static_cast<int>(i + 1));
  }
  EXPECT_THAT(places, ElementsAre(1, 2, -6, -7, -16));
  EXPECT_NEAR(x[0], 0.5, 1e-8);
}

TEST(HashedFeatures, ContextDecidesBetweenActionsByCrosses) {
  const auto ios_a = VectorOf(R"([{"d":"ios"}])", R"([{"t":"a"}])", 1, 256);
  const auto ios_b = VectorOf(R"([{"d":"ios"}])", R"([{"t":"b"}])", 1, 256);
  const auto web_a = VectorOf(R"([{"d":"web"}])", R"([{"t":"a"}])", 1, 256);
  EXPECT_NEAR(Dot(ios_a, web_a), 0.5, 1e-6);   // bias and action alike, crosses not
  EXPECT_NEAR(Dot(ios_a, ios_b), 0.25, 1e-6);  // the bias alone
}

// Cosine of two contexts for one action, of the crosses alone.
double Alike(const std::string& one, const std::string& other) {
  const char* const action = R"([{"t":"a"}])";
  return (Dot(VectorOf(one, action, 1, 4096), VectorOf(other, action, 1, 4096)) - 0.5) / 0.5;
}

TEST(HashedFeatures, NumbersOfListsKeepTheirPlaces) {
  EXPECT_LT(std::abs(Alike(R"([{"x":[1,0]}])", R"([{"x":[0,1]}])")), 0.1);
  EXPECT_NEAR(Alike(R"([{"x":[1,0]}])", R"([{"x":[1,0]}])"), 1, 1e-6);
  EXPECT_LT(std::abs(Alike(R"([{"x":[[1,0],[0,0]]}])", R"([{"x":[[0,0],[1,0]]}])")), 0.1);
  EXPECT_LT(std::abs(Alike(R"([{"x":[{"y":1},{"y":0}]}])", R"([{"x":[{"y":0},{"y":1}]}])")), 0.1);
  // Words have no order, and the objects of the outermost list are namespaces.
  EXPECT_NEAR(Alike(R"([{"x":["a","b"]}])", R"([{"x":["b","a"]}])"), 1, 1e-6);
  EXPECT_NEAR(Alike(R"([{"x":1},{"y":2}])", R"([{"y":2},{"x":1}])"), 1, 1e-6);
}

std::string Embedding(int size) {
  std::string text = R"([{"embedding":[0.5)";
  for (int i = 1; i < size; ++i) text += ",0.5";
  return text + "]}]";
}

TEST(HashedFeatures, AreBounded) {
  std::vector<HashedFeature> features;
  EXPECT_THAT(AppendHashed(nlohmann::json::parse(Embedding(1024)), "c", false, features), IsOk());
  features.clear();
  EXPECT_THAT(
      AppendHashed(nlohmann::json::parse(Embedding(1025)), "contextFeatures", false, features),
      StatusIs(absl::StatusCode::kInvalidArgument, "contextFeatures: at most 1024"));
}

// Where contexts are private no value decides whether there is a round.
TEST(PersonalizerCalls, OddFeaturesOfPrivateContextsAreMissing) {
  v1::GetModelResponse with_schema = Model(16);
  with_schema.mutable_features()->add_context()->set_name("x");
  with_schema.mutable_features()->add_arm()->set_name("x");
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  for (const std::string& odd :
       {Embedding(5000), std::string("7"), std::string("[7]"), std::string(R"([{"x":NaN}])"),
        std::string(R"([{"x":1e999}])"), R"([{"x":)" + deep + "}]", std::string("\"text\"")}) {
    for (const bool in_context : {true, false}) {
      const std::string text = in_context
                                   ? R"({"actions":[{"id":"a"}],"contextFeatures":)" + odd + "}"
                                   : R"({"actions":[{"id":"a","features":)" + odd + "}]}";
      const auto call = ParseRank(text, false, true);
      ASSERT_THAT(call, IsOk()) << text.substr(0, 80);
      EXPECT_THAT(DecisionOf(*call, PartOf(*call), Model(32)), IsOk()) << text.substr(0, 80);
      EXPECT_THAT(DecisionOf(*call, PartOf(*call), with_schema), IsOk()) << text.substr(0, 80);
    }
  }
}

}  // namespace
}  // namespace bandana::server
