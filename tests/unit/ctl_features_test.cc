// What bandana-ctl says of named features.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "bandana/v1/config.pb.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/status_matchers.h"
#include "tools/ctl/features.h"

namespace bandana {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::kShopSchema;
using testing::MakeSchema;
using testing::StatusIs;

TEST(CtlFeaturesTest, ExplainsAnExample) {
  const auto text = ExplainFeatures(*MakeSchema(kShopSchema),
                                    R"({"context": {"device": "web"},
                                        "arms": [{"id": "a", "features": {"price": 600}}]})");
  ASSERT_THAT(text, IsOk());
  EXPECT_THAT(*text, HasSubstr("dimension 39, every block times 0.408248\n"));
  EXPECT_THAT(*text, HasSubstr("arms[0] \"a\"\n      0  bias"));
  EXPECT_THAT(*text, HasSubstr("      3  device=web"));
  EXPECT_THAT(*text, HasSubstr("      6  price                                     0.408248\n"));
  EXPECT_THAT(*text, HasSubstr("note: arms[0].features.price: must be in [1, 500], got 600"));
}

TEST(CtlFeaturesTest, NamesWhatIsWrongWithAnExample) {
  const auto schema = MakeSchema(kShopSchema);
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ExplainFeatures(*schema, "{"), StatusIs(code, "not a JSON object"));
  EXPECT_THAT(ExplainFeatures(*schema, "{}"), StatusIs(code, "arms: must be a list"));
  EXPECT_THAT(ExplainFeatures(*schema, R"({"arms": [3]})"),
              StatusIs(code, "arms[0]: must be an object, got 3"));
  EXPECT_THAT(ExplainFeatures(*schema, R"({"arms": [{"features": {"price": "x"}}]})"),
              StatusIs(code, "arms[0].features.price: must be a number, got \"x\""));
}

TEST(CtlFeaturesTest, ProposesASchemaThatParses) {
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    lines += R"({"context": {"device": ")" + std::string(i % 2 == 0 ? "ios" : "web") +
             R"(", "hour": )" + std::to_string(i % 24) + R"(, "odd": )" +
             (i % 2 == 0 ? "1" : "\"x\"") + R"(}, "arm": {"price": )" + std::to_string(1 + i * i) +
             R"(, "stock": )" + std::to_string(i % 10) + R"(, "new": true, "tags": ["t)" +
             std::to_string(i % 100) + R"("], "title": "a title of some words )" +
             std::to_string(i) + R"(", "at": [3, 4]}})" + "\n";
  }
  const auto text = FitFeatures(lines);
  ASSERT_THAT(text, IsOk());
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(*text, &config)) << *text;
  EXPECT_THAT(testing::SchemaMistakes(config.features()), ::testing::IsEmpty()) << *text;
  EXPECT_THAT(*text, HasSubstr("name: \"device\" categorical { values: \"ios\" values: \"web\" }"));
  EXPECT_THAT(*text, HasSubstr("name: \"hour\" cyclic { period: 24 }"));
  EXPECT_THAT(*text, HasSubstr("# context \"odd\": values of one kind"));
  EXPECT_THAT(*text, HasSubstr("log: true"));
  EXPECT_THAT(*text, HasSubstr("name: \"stock\" numeric { low: 0 high: 9 }"));
  EXPECT_THAT(*text, HasSubstr("name: \"new\" boolean {}"));
  EXPECT_THAT(*text, HasSubstr("name: \"tags\" set { hash_bits: 6 }"));
  EXPECT_THAT(*text, HasSubstr("name: \"title\" text { hash_bits: 6 }"));
  EXPECT_THAT(*text, HasSubstr("name: \"at\" vector { dimension: 2 l2_max: 5 }"));
  EXPECT_THAT(*text, HasSubstr("In a private model bounds and values must be declared"));
}

TEST(CtlFeaturesTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(
      FitFeatures("{\"arm\": {\"a\": 1}}\n\n{\"arm\": 3}\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, "line 3: arm: must be an object, got 3"));
  EXPECT_THAT(FitFeatures("{}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, "1 examples, none"));
}

}  // namespace
}  // namespace bandana
