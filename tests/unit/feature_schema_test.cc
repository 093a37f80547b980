// Schemas of named features: what is refused, where entries lie, and what is said of a change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/features/feature_hash.h"
#include "common/features/schema.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

std::vector<std::string> MistakesOf(const std::string& text) {
  return SchemaMistakes(SchemaMessage(text));
}

TEST(FeatureSchemaTest, BlocksStandInTheOrderOfTheSchema) {
  const auto schema = MakeSchema(kShopSchema);
  EXPECT_EQ(schema->dimension(), 39);
  std::vector<std::string> places;
  for (const FeatureBlock& b : schema->blocks()) {
    places.push_back(b.name + " " + std::to_string(b.begin) + "+" + std::to_string(b.size));
  }
  EXPECT_THAT(places, ElementsAre("bias 0+1", "device 1+3", "hour 4+2", "price 6+1", "tags 7+8",
                                  "device x tags 15+24"));
}

TEST(FeatureSchemaTest, EntriesHaveNames) {
  const auto schema = MakeSchema(kShopSchema);
  EXPECT_EQ(schema->EntryName(0), "bias");
  EXPECT_EQ(schema->EntryName(2), "device=android");
  EXPECT_EQ(schema->EntryName(4), "hour.sin");
  EXPECT_EQ(schema->EntryName(6), "price");
  EXPECT_EQ(schema->EntryName(9), "tags#2");
  EXPECT_EQ(schema->EntryName(15 + 8 + 3), "device=android x tags#3");
}

// Devices hash this text, and a model's identity keeps it: it must never change by accident.
TEST(FeatureSchemaTest, CanonicalTextIsFixed) {
  EXPECT_EQ(MakeSchema(kShopSchema)->Text(),
            "features=1\n"
            "feature_bias\n"
            "feature_context=device categorical values \"ios\" \"android\" \"web\"\n"
            "feature_context=hour cyclic 24\n"
            "feature_arm=price numeric 1 500 log\n"
            "feature_arm=tags set hash_bits 3\n"
            "feature_cross=device tags\n");
  EXPECT_EQ(MakeSchema(R"(arm { name: "b" boolean {} }
                          arm { name: "t" text { hash_bits: 4 } }
                          arm { name: "v" vector { dimension: 3 } }
                          arm { name: "n" numeric { low: -0.1 high: 2 } }
                          arm { name: "c" categorical { values: "a\"b\\" } })")
                ->Text(),
            "features=1\n"
            "feature_arm=b boolean\n"
            "feature_arm=t text hash_bits 4 ngrams 1\n"
            "feature_arm=v vector 3 1\n"
            "feature_arm=n numeric -0.10000000000000001 2 linear\n"
            "feature_arm=c categorical values \"a\\\"b\\\\\"\n");
}

TEST(FeatureSchemaTest, MessageReadsBack) {
  const auto schema = MakeSchema(kShopSchema);
  const auto again = FeatureSchema::Make(schema->message(), 1, 256, [](auto, auto) { FAIL(); });
  EXPECT_EQ(again->Text(), schema->Text());
}

TEST(FeatureSchemaTest, EveryMistakeIsNamedWithItsPath) {
  EXPECT_THAT(MistakesOf(R"(context { name: "Device" boolean {} }
                            context { name: "x" }
                            arm { name: "p" numeric { low: 3 high: 3 } }
                            arm { name: "q" numeric { low: 0 high: 3 log: true } }
                            arm { name: "h" cyclic { period: 0 } }
                            arm { name: "t" text { ngrams: 4 hash_bits: 13 } }
                            arm { name: "v" vector { dimension: 300 } }
                            arm { name: "s" set { values: "a" values: "a" hash_bits: 2 } })"),
              ElementsAre(StartsWith("context[0].name: must be 1 to 32 lower-case letters"),
                          StartsWith("context[1]: must be one of categorical, numeric"),
                          "arm[0].numeric.high: must be above low = 3, got 3",
                          "arm[1].numeric.low: must be above 0 with log, got 0",
                          "arm[2].cyclic.period: must be in (0, 1e+09], got 0",
                          "arm[3].text.ngrams: must be in [1, 3], got 4",
                          "arm[3].text.hash_bits: must be in [1, 12], got 13",
                          "arm[4].vector.dimension: must be in [1, 256], got 300",
                          "arm[5].set: must have values or hash_bits, got both",
                          "arm[5].set.values[1]: is there twice: \"a\""));
}

TEST(FeatureSchemaTest, BoundsThatAreNoNumbersAreRefused) {
  v1::FeatureSchema schema = SchemaMessage(R"(arm { name: "p" numeric { high: 1 } })");
  schema.mutable_arm(0)->mutable_numeric()->set_low(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(SchemaMistakes(schema),
              ElementsAre(StartsWith("arm[0].numeric.low: must be a number in")));
}

TEST(FeatureSchemaTest, NamesAndCrossesAreUnique) {
  EXPECT_THAT(MistakesOf(R"(context { name: "a" boolean {} } arm { name: "a" boolean {} })"),
              ElementsAre("arm[0].name: must be one that no other field has, got a"));
  EXPECT_THAT(
      MistakesOf(R"(context { name: "a" boolean {} } arm { name: "b" boolean {} }
                            crosses { a: "a" b: "b" } crosses { a: "b" b: "a" }
                            crosses { a: "a" b: "a" } crosses { a: "a" b: "c" })"),
      ElementsAre("crosses[1]: is there twice", "crosses[2]: must be of two different fields",
                  "crosses[3].b: no field has the name \"c\""));
}

TEST(FeatureSchemaTest, TooManyEntriesNameTheLargest) {
  EXPECT_THAT(
      MistakesOf(R"(bias: true context { name: "c" categorical { hash_bits: 6 } }
                            arm { name: "t" set { hash_bits: 6 } } crosses { a: "c" b: "t" })"),
      ElementsAre(HasSubstr(": makes 4225 entries (c x t 4096, c 64, t 64, ..), at most 256 "
                            "are allowed")));
  EXPECT_THAT(MistakesOf(""), ElementsAre(": must have a bias or at least one field"));
}

TEST(FeatureSchemaTest, ChangesAreSaidInWords) {
  const std::string before = IdentityText(*MakeSchema(kShopSchema));
  EXPECT_EQ(SchemaChange(before, before), "");
  std::string cheaper = kShopSchema;
  cheaper.replace(cheaper.find("high: 500"), 9, "high: 100");
  EXPECT_THAT(SchemaChange(before, IdentityText(*MakeSchema(cheaper))),
              HasSubstr("entry 6: arm=price numeric 1 500 log in the stored state, entry 6: "
                        "arm=price numeric 1 100 log in the configuration"));
  EXPECT_THAT(SchemaChange(before, IdentityText(*MakeSchema(kShopSchema, 2))),
              HasSubstr("l2_max 1 in the stored state, l2_max 2 in the configuration"));
  std::string less = kShopSchema;
  less.erase(less.find("crosses"));
  EXPECT_THAT(SchemaChange(before, IdentityText(*MakeSchema(less))),
              HasSubstr("changes the scale of every entry: blocks 6 in the stored state, blocks 5 "
                        "in the configuration, and entry 15: cross=device tags against nothing"));
  EXPECT_THAT(SchemaChange("", before), HasSubstr("raw vectors in the stored state"));
  EXPECT_THAT(SchemaChange(before, ""), HasSubstr("none in the configuration"));
}

// docs/formats.md#hashed-values has the same.
TEST(FeatureHashTest, IsFixedForGood) {
  EXPECT_EQ(FeatureHash(""), 0xefd01f60ba992926u);
  EXPECT_EQ(FeatureHash("rock"), 0xd7a32f890d865415u);
  EXPECT_EQ(FeatureHash("caf\xc3\xa9"), 0xf50b1f8e2c0682e6u);
}

TEST(FeatureHashTest, EntriesAreSpreadEvenly) {
  constexpr int kTexts = 20000;
  for (const int bits : {1, 4, 8}) {
    std::vector<int> counts(std::size_t{1} << bits);
    for (int i = 0; i < kTexts; ++i)
      ++counts[static_cast<std::size_t>(HashedEntry("tag-" + std::to_string(i), bits))];
    double chi = 0;
    const double expected = static_cast<double>(kTexts) / static_cast<double>(counts.size());
    for (const int c : counts) chi += (c - expected) * (c - expected) / expected;
    // The texts are fixed: not a chance test. A hash that ignores a byte is off by thousands.
    const double freedom = static_cast<double>(counts.size()) - 1;
    EXPECT_LT(chi, freedom + 5 * std::sqrt(2 * freedom) + 10) << bits;
  }
}

}  // namespace
}  // namespace bandana::testing
