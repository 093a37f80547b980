// Requests as JSON: what is taken, and how mistakes are said.
#include "server/api/json_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

absl::Status Read(const std::string& text) {
  v1::SelectRequest request;
  return FromJson(text, request);
}

TEST(JsonCall, SkipsAByteOrderMarkAndNamesAnotherEncoding) {
  EXPECT_THAT(Read("\xEF\xBB\xBF{\"user\": \"ann\"}"), IsOk());
  EXPECT_THAT(Read("\xEF\xBB\xBF"), IsOk());
  EXPECT_THAT(Read(std::string("\xFF\xFE{\0}\0", 6)),
              StatusIs(absl::StatusCode::kInvalidArgument, "the text is UTF-16"));
}

TEST(JsonCall, TakesBothSpellingsOfNames) {
  v1::SelectRequest request;
  ASSERT_THAT(FromJson(R"({"user":"ann","topK":2,"arms":{"inline_arms":{"features":[1,0,0.5]}},)"
                       R"("decisionId":"d"})",
                       request),
              IsOk());
  EXPECT_EQ(request.user(), "ann");
  EXPECT_EQ(request.top_k(), 2);
  EXPECT_EQ(request.arms().inline_arms().features_size(), 3);
  EXPECT_EQ(request.decision_id(), "d");
  EXPECT_THAT(Read(""), IsOk());
  EXPECT_THAT(Read(" \n"), IsOk());
}

TEST(JsonCall, NamesThePlaceAndQuotesNoValue) {
  struct Row {
    std::string text, message;
  };
  const std::vector<Row> rows = {
      {R"({"usr":"ann-who-is-secret"})", "usr: there is no such field"},
      {R"({"arms":{"inlineArms":{"feats":[1]}}})",
       "arms.inline_arms.feats: there is no such field"},
      {R"({"arms":{"":1}})", "arms: has a field that there is not"},
      {R"({"arms":{"a secret":1}})", "arms: has a field that there is not"},
      {R"({"topK":"many-secret"})", "top_k: the value does not fit the field"},
      {R"({"topK":-1})", "top_k: the value does not fit the field"},
      {R"({"arms":{"inlineArms":{"features":[1,"secret"]}}})", "arms.inline_arms.features[1]: "},
      {R"({"arms":{"namedArms":{"arms":[{"id":"a"},{"id":"b","featurs":{}}]}}})",
       "arms.named_arms.arms[1].featurs: there is no such field"},
      {R"({"arms":{"inlineArms":{"features":[[0],[0,[{}]]]}}})",
       "arms.inline_arms.features[1][1][0]: the value does not fit the field, of type double"},
      {R"({"arms":{"namedArms":{"arms":[{},"secret"]}}})",
       "arms.named_arms.arms[1]: the value does not fit the field, of type object"},
      {R"({"arms":{"namedArms":{"arms":[{},{"features":{"secret":1,"secret":2}}]}}})",
       "arms.named_arms.arms[1].features: has a key twice"},
      {R"({"arms":[]})", "arms: is a list, where one value is wanted"},
      {R"({"arms":{"inlineArms":{},"catalogue_arms":{}}})",
       "arms.catalogue_arms: excludes inline_arms, which stands there as well"},
      {R"({"learn":true,"learn":true})", "learn: stands there twice"},
      {R"({"rules":{"exclude_seen":{"within":"5 secrets"}}})",
       R"(rules.exclude_seen.within: the value does not fit the field, of type duration)"},
      {R"({"user":7})", "user: the value does not fit the field, of type string"},
      {"{\"user\":\"\xff\"}", "not JSON: a mistake at byte"},
      {"{\"user\":\"\xed\xa0\x80\"}", "not JSON: a mistake at byte"},
      {R"({"user":"ann")", "not JSON: a mistake at byte"},
      {R"({"topK":NaN})", "not JSON: a mistake at byte"},
      {R"({"context":{"x":1e999}})", "not JSON: a number out of range"},
      {"{} secret", "not JSON: a mistake at byte"},
      {R"({"usr":1,)", "not JSON: a mistake at byte"},
      {"[]", "request: must be an object"},
      {"7", "request: must be an object"},
      {R"({} {})", "not JSON: a mistake at byte"},
  };
  for (const Row& row : rows) {
    const absl::Status status = Read(row.text);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, row.message)) << row.text;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << row.text;
  }
}

TEST(JsonCall, DepthIsBounded) {
  const auto nested = [](int depth) {
    return absl::StrCat(R"({"context":)", std::string(depth, '['), std::string(depth, ']'), "}");
  };
  const auto inside = [](int depth) {
    std::string text = "1";
    for (int i = 0; i < depth; ++i) text = R"({"a":)" + text + "}";
    return R"({"context":)" + text + "}";
  };
  EXPECT_THAT(Read(inside(kJsonDepthMax - 1)), IsOk());
  EXPECT_THAT(Read(inside(kJsonDepthMax)),
              StatusIs(absl::StatusCode::kInvalidArgument, "not JSON: more than 32"));
  EXPECT_THAT(Read(nested(1'000'000)),
              StatusIs(absl::StatusCode::kInvalidArgument, "not JSON: more than 32"));
}

TEST(JsonCall, TheLastOfTwoKeysCounts) {
  v1::SelectRequest request;
  ASSERT_THAT(FromJson(R"({"user":"ann","user":"bob"})", request), IsOk());
  EXPECT_EQ(request.user(), "bob");
}

TEST(JsonCall, OddRewardsAreLeftOut) {
  const auto reward = [](const std::string& value) {
    v1::ReportRequest request;
    EXPECT_THAT(FromJson(WithoutOddRewards(absl::StrCat(
                             R"({"outcomes":[{"token":"AA==","shown":1,"reward":)", value, "}]}")),
                         request),
                IsOk())
        << value;
    EXPECT_EQ(request.outcomes_size(), 1);
    EXPECT_EQ(request.outcomes(0).shown(), 1);
    return request.outcomes(0);
  };
  EXPECT_EQ(reward("0.5").reward(), 0.5);
  EXPECT_EQ(reward("-3").reward(), -3);
  for (const char* odd : {"null", "\"NaN\"", "NaN", "Infinity", "-Infinity", "\"0.5\"", "true",
                          "[]", "{\"a\":1}", "\"\\\"NaN\""}) {
    EXPECT_FALSE(reward(odd).has_reward()) << odd;
  }
  // A number that no double holds is out of range like any other such number, and takes no other
  // along.
  EXPECT_EQ(reward("1e400").reward(), std::numeric_limits<double>::max());
  EXPECT_EQ(reward("-1e400").reward(), std::numeric_limits<double>::lowest());
  EXPECT_EQ(reward("1e-400").reward(), 0);
  // Text is not touched.
  EXPECT_THAT(WithoutOddRewards(R"({"outcomes":[{"decisionId":"1e400"}]})"),
              HasSubstr(R"("1e400")"));
  EXPECT_THAT(WithoutOddRewards(R"({"outcomes":[{"decisionId":"NaN \" NaN"}]})"),
              HasSubstr(R"(NaN \" NaN)"));
}

// Where contexts are private no value decides whether there is a round.
TEST(JsonCall, OddFeaturesAreMissing) {
  const auto read = [](const std::string& text) {
    v1::SelectRequest request;
    EXPECT_THAT(FromJson(WithoutOddFeatures(text), request), IsOk()) << text.substr(0, 80);
    EXPECT_EQ(request.user(), "ann");
    return request;
  };
  for (const char* odd : {"null", "NaN", "\"x\"", "{}", "[1]", "true", "\"\"", "-Infinity"}) {
    const auto request = read(
        absl::StrCat(R"({"user":"ann","arms":{"inlineArms":{"features":[1,"0.5",)", odd, "]}}}"));
    const auto& features = request.arms().inline_arms().features();
    ASSERT_EQ(features.size(), 3) << odd;
    EXPECT_EQ(features[0], 1);
    EXPECT_EQ(features[1], 0.5);
    EXPECT_TRUE(std::isnan(features[2])) << odd;
  }
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  for (const std::string& odd : {std::string("NaN"), std::string("1e999"), deep,
                                 std::string(R"({"b":1})"), std::string("[[1]]")}) {
    const auto request = read(absl::StrCat(
        R"({"user":"ann","context":{"a":)", odd,
        R"(,"c":2},"arms":{"named_arms":{"arms":[{"id":"x","features":{"a":)", odd, "}}]}}}"));
    EXPECT_EQ(request.context().fields().at("c").number_value(), 2);
    EXPECT_EQ(request.context().fields().count("a"), 1);
    EXPECT_EQ(request.arms().named_arms().arms(0).id(), "x");
  }
  for (const char* odd : {"7", "\"x\"", "[1]", "null"}) {
    EXPECT_TRUE(
        read(absl::StrCat(R"({"user":"ann","context":)", odd, "}")).context().fields().empty());
  }
  v1::BatchSelectRequest batch;
  ASSERT_THAT(FromJson(WithoutOddFeatures(
                           R"({"decisions":[{"arms":{"inline_arms":{"features":["x"]}}},{}]})"),
                       batch),
              IsOk());
  EXPECT_EQ(batch.decisions(0).arms().inline_arms().features_size(), 1);
}

}  // namespace
}  // namespace bandana::server
