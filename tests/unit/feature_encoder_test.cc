// Named values -> vectors: the layout, and what becomes of values that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/design/wire_messages.h"
#include "common/features/encoder.h"
#include "common/features/feature_hash.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr ValuePath kContext{.list = "context"};
constexpr ValuePath kArm{.list = "arms", .index = 2, .member = "features"};

// Encodes by a schema, and keeps what is said.
class Encoder {
 public:
  explicit Encoder(const std::string& schema, ValueRule rule = ValueRule::kOpen, double l2_max = 1)
      : schema_(MakeSchema(schema, l2_max)) {
    log.Begin(rule, schema_->fields().size());
  }

  absl::StatusOr<std::vector<double>> Encode(const std::string& context, const std::string& arm) {
    return Encode(ValuesOf(context), ValuesOf(arm));
  }
  absl::StatusOr<std::vector<double>> Encode(const google::protobuf::Struct& context,
                                             const google::protobuf::Struct& arm) {
    EncodedContext encoded;
    const auto d = static_cast<std::size_t>(schema_->dimension());
    std::vector<double> row(d, 7.0);
    std::vector<double> x(d, 7.0);
    BANDANA_RETURN_IF_ERROR(EncodeContext(*schema_, FromProto(context), kContext, log, encoded));
    BANDANA_RETURN_IF_ERROR(EncodeArm(*schema_, FromProto(arm), kArm, log, row));
    EXPECT_THAT(CheckArmRow(*schema_, row), IsOk());
    Join(*schema_, encoded, row, x);
    return x;
  }
  // Divided by the scale.
  std::vector<double> Unscaled(const std::string& context, const std::string& arm) {
    auto x = Encode(context, arm);
    EXPECT_THAT(x, IsOk());
    for (double& v : *x) v /= schema_->scale();
    return *x;
  }
  const FeatureSchema& schema() const { return *schema_; }

  ValueLog log;

 private:
  std::shared_ptr<const FeatureSchema> schema_;
};

std::vector<double> One(const std::string& field, const std::string& value) {
  Encoder encoder("arm { name: 'f' " + field + " }");
  return encoder.Unscaled("{}", R"({"f": )" + value + "}");
}

auto Near(const std::vector<double>& expected) { return Pointwise(DoubleNear(1e-12), expected); }

TEST(FeatureEncoderTest, ShopVectorIsAsTheSchemaSays) {
  Encoder encoder(kShopSchema);
  const auto x = encoder.Unscaled(R"({"device": "android", "hour": 6})",
                                  R"({"price": 500, "tags": ["rock"]})");
  std::vector<double> expected(39, 0.0);
  expected[0] = 1;
  expected[2] = 1;
  expected[4] = 1;  // sin of a quarter
  expected[6] = 1;
  const int rock = 7 + HashedEntry("rock", 3);
  expected[static_cast<std::size_t>(rock)] = 1;
  expected[static_cast<std::size_t>(15 + 8 + rock - 7)] = 1;
  EXPECT_THAT(x, Near(expected));
  EXPECT_NEAR(encoder.schema().scale(), 1 / std::sqrt(6.0), 1e-10);
  EXPECT_THAT(encoder.log.notes(), IsEmpty());
}

TEST(FeatureEncoderTest, KindsOfFields) {
  EXPECT_THAT(One("categorical { values: 'a' values: 'b' }", R"("b")"), Near({0, 1}));
  EXPECT_THAT(One("categorical { values: '7' values: '-2' }", "-2"), Near({0, 1}));
  EXPECT_THAT(One("numeric { low: 10 high: 30 }", "15"), Near({-0.5}));
  EXPECT_THAT(One("numeric { low: 1 high: 100 log: true }", "10"), Near({0}));
  EXPECT_THAT(One("boolean {}", "true"), Near({1}));
  EXPECT_THAT(One("boolean {}", "false"), Near({-1}));
  EXPECT_THAT(One("cyclic { period: 24 }", "-6"), Near({-1, 0}));
  EXPECT_THAT(One("set { values: 'a' values: 'b' values: 'c' }", R"(["c", "a", "c"])"),
              Near({std::numbers::sqrt2 / 2, 0, std::numbers::sqrt2 / 2}));
  EXPECT_THAT(One("set { values: 'a' }", "[]"), Near({0}));
  EXPECT_THAT(One("vector { dimension: 2 l2_max: 10 }", "[3, 4]"), Near({0.3, 0.4}));
  EXPECT_THAT(One("vector { dimension: 2 l2_max: 1 }", "[3, -4]"), Near({0.6, -0.8}));
  EXPECT_THAT(One("vector { dimension: 2 }", "[0, 0]"), Near({0, 0}));
}

TEST(FeatureEncoderTest, CaseAndPunctuationOfWordsDoNotCount) {
  const std::string field = "text { hash_bits: 8 ngrams: 2 }";
  EXPECT_EQ(One(field, R"("Red shoes, red!")"), One(field, R"("red  SHOES /red/")"));
  EXPECT_NE(One(field, R"("red shoes red")"), One(field, R"("red red shoes")"));
  EXPECT_EQ(One("text { hash_bits: 8 }", R"("red shoes red")"),
            One("text { hash_bits: 8 }", R"("red red shoes")"));
  EXPECT_THAT(One("text { hash_bits: 1 }", R"("  ...")"), Near({0, 0}));
  // Letters beyond ASCII are parts of words, as they are.
  EXPECT_EQ(One(field, R"("caf\u00e9")"), One(field, R"("CAF\u00e9 ")"));
}

// Computed apart from the code: server and devices of any version must agree on these entries.
TEST(FeatureEncoderTest, HashedValuesAreGolden) {
  const auto at = [](std::vector<std::pair<int, double>> entries) {
    std::vector<double> x(16, 0.0);
    for (const auto& [entry, value] : entries) x[static_cast<std::size_t>(entry)] = value;
    return x;
  };
  EXPECT_THAT(One("categorical { hash_bits: 4 }", R"("red")"), Near(at({{2, 1}})));
  EXPECT_THAT(One("categorical { hash_bits: 4 }", R"("caf\u00e9")"), Near(at({{6, 1}})));
  EXPECT_THAT(One("categorical { hash_bits: 4 }", "42"), Near(at({{12, 1}})));
  EXPECT_THAT(One("set { hash_bits: 4 }", R"(["red", 42])"),
              Near(at({{2, std::numbers::sqrt2 / 2}, {12, std::numbers::sqrt2 / 2}})));
  // red twice, shoes, "red shoes", "shoes red": 2, 1, 1, 1 divided by the root of 7.
  const double one = 1 / std::sqrt(7.0);
  EXPECT_THAT(One("text { hash_bits: 4 ngrams: 2 }", R"("Red shoes: RED!")"),
              Near(at({{2, 2 * one}, {7, one}, {3, one}, {0, one}})));
}

TEST(FeatureEncoderTest, CrossesAreOuterProductsInTheOrderOfTheirNames) {
  Encoder encoder(R"(context { name: "c" categorical { values: "x" values: "y" } }
                     context { name: "d" boolean {} }
                     arm { name: "v" vector { dimension: 3 } }
                     arm { name: "b" boolean {} }
                     crosses { a: "v" b: "c" } crosses { a: "c" b: "b" }
                     crosses { a: "b" b: "v" } crosses { a: "c" b: "d" })");
  const auto x =
      encoder.Unscaled(R"({"c": "y", "d": false})", R"({"v": [0.1, 0.2, -0.3], "b": true})");
  EXPECT_THAT(x, Near({0,   1,   -1,                  // context
                       0.1, 0.2, -0.3, 1,             // arm
                       0,   0.1, 0,    0.2, 0, -0.3,  // v x c
                       0,   1,                        // c x b
                       0.1, 0.2, -0.3,                // b x v
                       0,   -1}));                    // c x d
}

TEST(FeatureEncoderTest, WrongTypesAreRefusedInTheWordsOfTheCaller) {
  Encoder encoder(kShopSchema);
  EXPECT_THAT(encoder.Encode("{}", R"({"price": "12 EUR"})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arms[2].features.price: must be a number, got \"12 EUR\""));
  EXPECT_THAT(encoder.Encode(R"({"device": true})", "{}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "context.device: must be a text or a whole number, got true"));
  EXPECT_THAT(encoder.Encode("{}", R"({"tags": "rock"})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arms[2].features.tags: must be a list of texts or whole numbers, got "
                       "\"rock\""));
  EXPECT_THAT(encoder.Encode("{}", R"({"colour": "red", "price": 3})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arms[2].features.\"colour\": the model's schema has no such field here: it "
                       "has price, tags"));
  google::protobuf::Struct nan;
  (*nan.mutable_fields())["price"].set_number_value(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(encoder.Encode({}, nan),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arms[2].features.price: must be a number, got nan"));
}

TEST(FeatureEncoderTest, UnknownValuesAndBoundsAreServedCountedAndNoted) {
  Encoder encoder(kShopSchema);
  const auto x = encoder.Unscaled(R"({"device": "tv"})", R"({"price": 900, "tags": null})");
  EXPECT_THAT(x[1], 0);
  EXPECT_NEAR(x[6], 1, 1e-12);
  EXPECT_THAT(encoder.log.notes(),
              ElementsAre("context.device: must be a value of the schema, got \"tv\"; counts as "
                          "missing",
                          "arms[2].features.price: must be in [1, 500], got 900; counts as the "
                          "nearest that is"));
  const std::vector<FieldCount>& counts = encoder.log.counts();
  EXPECT_EQ(counts[0].unknown, 1u);
  EXPECT_EQ(counts[1].missing, 1u);
  EXPECT_EQ(counts[2].out_of_bounds, 1u);
  EXPECT_EQ(counts[2].values, 1u);
  EXPECT_EQ(counts[3].missing, 1u);
}

TEST(FeatureEncoderTest, HiddenValuesAreNeverRefusedNorQuoted) {
  Encoder encoder(kShopSchema, ValueRule::kHidden);
  const auto wrong = encoder.Encode(R"({"device": "secret", "hour": "secret", "secret": 1})",
                                    R"({"price": "secret", "tags": [3, {"secret": 1}]})");
  ASSERT_THAT(wrong, IsOk());
  EXPECT_EQ(*wrong, *Encoder(kShopSchema).Encode("{}", "{}"));
  EXPECT_EQ(encoder.log.notes().size(), 5u);
  for (const std::string& note : encoder.log.notes()) {
    EXPECT_THAT(note, Not(HasSubstr("secret"))) << note;
  }
}

// A response whose text is no UTF-8 cannot be read by anybody.
TEST(FeatureEncoderTest, LongTextsAreCutBetweenCharacters) {
  const std::string euro = "\xe2\x82\xac";
  for (int ascii = 0; ascii < 4; ++ascii) {
    std::string text(static_cast<std::size_t>(ascii), 'a');
    for (int i = 0; i < 20; ++i) text += euro;
    const std::string shown = ShowText(text);
    std::string expected = "\"" + std::string(static_cast<std::size_t>(ascii), 'a');
    while (expected.size() + euro.size() <= 1 + 32) expected += euro;
    EXPECT_EQ(shown, expected + "\"..");
  }
  EXPECT_EQ(ShowText(std::string(32, 'b')), "\"" + std::string(32, 'b') + "\"");
  EXPECT_EQ(ShowText(std::string(40, '\xac')), "\"\"..");
}

TEST(FeatureEncoderTest, VectorsOfTinyNumbersStayInTheBall) {
  for (const double l2_max : {5e-324, 1.5e-323, 1e-310, 1e-160}) {
    Encoder encoder(
        absl::StrFormat("arm { name: 'v' vector { dimension: 2 l2_max: %.17g } }", l2_max));
    for (const double v : {l2_max, l2_max / 2, 3 * l2_max}) {
      const auto x = encoder.Unscaled("{}", absl::StrFormat(R"({"v": [%.17g, %.17g]})", v, v));
      EXPECT_LE(std::hypot(x[0], x[1]), 1 + 1e-12) << l2_max << " " << v;
    }
  }
}

TEST(FeatureEncoderTest, NotesAreBounded) {
  Encoder encoder(kShopSchema);
  for (int i = 0; i < 40; ++i) EXPECT_THAT(encoder.Encode("{}", R"({"price": 900})"), IsOk());
  EXPECT_EQ(encoder.log.notes().size(), ValueLog::kNotesMax);
}

TEST(FeatureEncoderTest, RowsThatNoArmHasAreRefused) {
  const auto schema = MakeSchema(kShopSchema);
  std::vector<double> row(39, 0.0);
  EXPECT_THAT(CheckArmRow(*schema, row),
              StatusIs(absl::StatusCode::kInvalidArgument, "entry 0 (bias) must be"));
  row[0] = schema->scale();
  EXPECT_THAT(CheckArmRow(*schema, row), IsOk());
  row[2] = 1e-300;
  EXPECT_THAT(CheckArmRow(*schema, row),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "entries 1 to 3 (device) are of the context and must be 0 in an arm"));
  row[2] = 0;
  row[6] = 1;
  EXPECT_THAT(CheckArmRow(*schema, row),
              StatusIs(absl::StatusCode::kInvalidArgument, "(price) must have an l2"));
}

}  // namespace
}  // namespace bandana::testing
