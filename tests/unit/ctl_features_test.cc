// The output of bandana-ctl about named features.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "bandana/v1/config.pb.h"
#include "common/base/file.h"
#include "common/design/files/arms_tsv.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/features.h"
#include "tools/ctl/model_file.h"
#include "tools/ctl/text.h"

namespace bandana::testing {
namespace {

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

// Whatever the examples are, the check of configurations takes what is proposed.
TEST(CtlFeaturesTest, ProposesNothingThatIsRefused) {
  const std::string odd[] = {
      R"({"arm": {"made": 1760000000}}
{"arm": {"made": 1760000060}})",
      R"({"arm": {"x": 1e200, "y": 1}}
{"arm": {"x": -1e200, "y": 2}})",
      R"({"arm": {"x": 5, "t": "a", "v": [1e9, 2e9]}}
{"arm": {"x": 5, "t": "a", "v": [1e9, 2e9]}})",
      R"({"arm": {"x": 1e-320}}
{"arm": {"x": 3e-320}})",
      R"({"context": {"same": 1}, "arm": {"same": 2}}
{"context": {"same": 2}, "arm": {"same": 3}})",
      R"({"arm": {"Price": 1, "a b\n": 2, "": 3}}
{"arm": {"Price": 2, "a b\n": 3, "": 4}})",
      R"({"arm": {"t": ""}}
{"arm": {"t": "a\nb"}}
{"arm": {"t": "c\"d"}})",
      R"({"arm": {"t": ")" + std::string(200, 'x') + R"("}}
{"arm": {"t": "b"}})",
      R"({"arm": {"a": "x y z u v", "b": "x y z u v", "c": "x y z u v", "d": "x y z u v", "e": "x y z u v"}})"};
  for (const std::string& lines : odd) {
    const auto text = FitFeatures(lines);
    ASSERT_THAT(text, IsOk()) << lines;
    v1::ModelConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(*text, &config)) << *text;
    EXPECT_THAT(testing::SchemaMistakes(config.features()), ::testing::IsEmpty()) << *text;
  }
}

TEST(CtlFeaturesTest, BoundsHoldTheValuesOfFewExamples) {
  std::string lines;
  for (int i = 0; i <= 10; ++i) {
    lines += "{\"arm\": {\"made\": " + std::to_string(1760000000 + i) + "}}\n";
  }
  EXPECT_THAT(FitFeatures(lines),
              IsOkAndHolds(HasSubstr("numeric { low: 1760000000 high: 1760000010 }")));
}

// One mistake among many would flatten all else, and none is cut twice.
TEST(CtlFeaturesTest, BoundsLeaveOutAHalfPercentOfMany) {
  std::string lines;
  for (int i = 1; i <= 400; ++i) lines += "{\"arm\": {\"x\": " + std::to_string(i) + "}}\n";
  EXPECT_THAT(FitFeatures(lines),
              IsOkAndHolds(HasSubstr("numeric { low: 3 high: 398 log: true }")));
}

TEST(CtlFeaturesTest, ReadsAMarkAndRefusesOtherEncodings) {
  EXPECT_THAT(FitFeatures("\xEF\xBB\xBF{\"arm\": {\"a\": 1}}\n{\"arm\": {\"a\": 2}}"), IsOk());
  EXPECT_THAT(FitFeatures("{}\n{\"arm\": {\"a\": \"caf\xE9\"}}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, "line 2, byte 19: the byte 0xe9"));
  EXPECT_THAT(ExplainFeatures(*MakeSchema(kShopSchema), "\xEF\xBB\xBF{}"),
              StatusIs(absl::StatusCode::kInvalidArgument, "arms: must be a list"));
}

TEST(CtlArmsTest, JsonLinesHaveNamesAndNamedFeatures) {
  const testing::TempDir folder;
  const std::string path = folder.File("arms.jsonl");
  ASSERT_THAT(WriteFileDurably(path,
                               "{\"id\": 7, \"name\": \"pen\", \"tags\": [\"new\"], "
                               "\"namedFeatures\": {\"price\": 2}}\n\n{\"id\": 8}\n",
                               0644),
              IsOk());
  const auto arms = ReadArms(path, 0);
  ASSERT_THAT(arms, IsOk());
  ASSERT_EQ(arms->size(), 2u);
  EXPECT_EQ((*arms)[0].name(), "pen");
  EXPECT_EQ((*arms)[0].named_features().fields().at("price").number_value(), 2);
  ASSERT_THAT(WriteFileDurably(path, "{\"id\": 7}\n{\"id\": -7}\n", 0644), IsOk());
  EXPECT_THAT(ReadArms(path, 0), StatusIs(absl::StatusCode::kInvalidArgument, "line 2: "));
}

TEST(CtlTextTest, StringsOfUsersAreOneLineAndTouchNoTerminal) {
  v1::User user;
  user.set_id(std::string("a\0b\n\x1B[2J", 8));
  EXPECT_EQ(UserLine(user), "a\\x00b\\n\\x1b[2J\n");
  v1::Arm arm;
  arm.set_id(7);
  arm.add_tags(std::string("x\0\ny", 4));
  EXPECT_EQ(ArmLine(arm), "7\tx\\x00\\ny\t\n");
}

TEST(CtlTextTest, NumbersAreAsShortAsTheyCanBe) {
  v1::GetModelResponse model;
  model.set_epsilon(0.1);
  EXPECT_THAT(ToText(model), HasSubstr("epsilon: 0.1\n"));
  EXPECT_THAT(ToText(model), ::testing::Not(HasSubstr("_UNSPECIFIED")));
}

// `arms put` reads the output of `arms list`.
TEST(CtlArmsTest, NamesAreInArmsTsv) {
  v1::Arm arm;
  arm.set_id(7);
  arm.add_features(0.5);
  for (const std::string name : {"", "a pen, new"}) {
    for (const bool group : {false, true}) {
      arm.set_name(name);
      arm.clear_groups();
      if (group) (*arm.mutable_groups())["genre"] = "rock";
      for (const int facts : {0, 1, 2, 3}) {
        arm.clear_fields();
        arm.clear_available_to();
        if ((facts & 1) != 0) (*arm.mutable_fields())["price"] = 0.1;
        if ((facts & 2) != 0) arm.mutable_available_to()->set_seconds(1);
        const auto read = ParseArmsTsv(ArmLine(arm), 1, 10);
        ASSERT_THAT(read, IsOk()) << ArmLine(arm);
        EXPECT_EQ((*read)[0].name, name);
        EXPECT_EQ((*read)[0].groups.size(), group ? 1u : 0u);
        EXPECT_EQ((*read)[0].facts, FactsOf(arm).value());
      }
    }
  }
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ParseArmsTsv("7\t-\t0.5\t-\ta\tb\n", 1, 10), StatusIs(code, "the sixth field"));
  EXPECT_THAT(ParseArmsTsv("7\t-\t0.5\t-\t" + std::string(129, 'a') + "\n", 1, 10),
              StatusIs(code, "a name of 129 bytes"));
}

TEST(CtlFeaturesTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(
      FitFeatures("{\"arm\": {\"a\": 1}}\n\n{\"arm\": 3}\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, "line 3: arm: must be an object, got 3"));
  EXPECT_THAT(FitFeatures("{}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, "1 examples, none"));
}

}  // namespace
}  // namespace bandana::testing
