// Vectors of named features.
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/features/encoder.h"
#include "common/features/schema_text.h"
#include "tests/support/feature_schemas.h"
#include "tests/vectors/json.h"
#include "tests/vectors/values.h"

namespace bandana::vectors {
namespace {

// A value with its JSON.
struct Given {
  std::string json;
  NamedValue value;
};
Given Number(double value) { return {ExactNumber(value), NamedValue::Number(value)}; }
Given Word(std::string_view text) { return {Text(text), NamedValue::Text(text)}; }
Given Flag(bool flag) { return {flag ? "true" : "false", NamedValue::Flag(flag)}; }
Given Null() { return {"null", {}}; }
Given Several(const std::vector<Given>& given) {
  std::vector<std::string> json;
  std::vector<NamedValue> values;
  for (const Given& one : given) {
    json.push_back(one.json);
    values.push_back(one.value);
  }
  return {List(json), NamedValue::List(values)};
}
using GivenValues = std::vector<std::pair<std::string, Given>>;

std::string JsonOf(const GivenValues& given) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, one] : given) members.emplace_back(name, one.json);
  return Object(members);
}
NamedValues ValuesOf(const GivenValues& given) {
  NamedValues values;
  for (const auto& [name, one] : given) values.emplace_back(name, one.value);
  return values;
}

std::string FeatureCase(const FeatureSchema& schema, const GivenValues& context,
                        const GivenValues& arm) {
  ValueLog log;
  log.Begin(ValueRule::kHidden, schema.fields().size());
  EncodedContext encoded;
  BANDANA_CHECK(EncodeContext(schema, ValuesOf(context), {.list = "context"}, log, encoded).ok());
  std::vector<double> row(static_cast<std::size_t>(schema.dimension()));
  BANDANA_CHECK(EncodeArm(schema, ValuesOf(arm), {.list = "arm"}, log, row).ok());
  std::vector<double> x(row.size());
  Join(schema, encoded, row, x);
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0) entries.push_back(List({std::to_string(i), Bits(x[i])}));
  }
  return Object(
      {{"context", Text(JsonOf(context))}, {"arm", Text(JsonOf(arm))}, {"entries", List(entries)}});
}

}  // namespace

std::string FeatureVectors() {
  std::vector<std::string> cases;
  const auto schema = testing::MakeSchema(R"(
    bias: true
    context { name: "device" categorical { values: "ios" values: "say \"hi\" \\ é" values: "7" } }
    context { name: "city" categorical { hash_bits: 3 } }
    context { name: "weekend" boolean {} }
    arm { name: "age" numeric { low: -0.1 high: 100 } }
    arm { name: "tags" set { values: "a b" values: "c" values: "d" } }
    arm { name: "title" text { hash_bits: 4 ngrams: 2 } }
    arm { name: "picture" vector { dimension: 3 l2_max: 2 } }
    crosses { a: "device" b: "tags" }
    crosses { a: "age" b: "weekend" }
    crosses { a: "city" b: "weekend" }
    crosses { a: "tags" b: "age" })",
                                          0.75);
  const std::pair<GivenValues, GivenValues> exact[] = {
      {{}, {}},
      {{{"device", Word("ios")}, {"city", Word("Paris")}, {"weekend", Flag(true)}},
       {{"age", Number(33)},
        {"tags", Several({Word("c"), Word("a b")})},
        {"title", Word("Hello, big WORLD 2")},
        {"picture", Several({Number(1), Number(-0.5), Number(0.25)})}}},
      {{{"device", Word("say \"hi\" \\ é")}, {"city", Word("")}, {"weekend", Flag(false)}},
       {{"age", Number(-5)},
        {"tags", Several({Word("unknown"), Word("d")})},
        {"title", Word("---")},
        {"picture", Several({Number(3), Number(4), Number(0)})}}},
      {{{"device", Number(7)}, {"city", Number(-12)}, {"weekend", Number(1)}},
       {{"age", Number(1e300)},
        {"tags", Several({})},
        {"title", Word("é É naïve")},
        {"picture", Several({Number(1e300), Number(1e300), Number(1e-300)})}}},
      {{{"device", Number(7.5)}, {"city", Null()}, {"nobody", Flag(true)}},
       {{"age", Word("33")},
        {"tags", Word("c")},
        {"title", Number(5)},
        {"picture", Several({Number(1), Number(2)})}}},
      {{{"device", Word("android")}, {"weekend", Null()}},
       {{"age", Number(0.1)},
        {"tags", Several({Word("c"), Word("c"), Number(3)})},
        {"title", Word("a a a b")},
        {"picture", Several({Number(0), Number(0), Number(0)})}}},
  };
  for (const auto& [context, arm] : exact) cases.push_back(FeatureCase(*schema, context, arm));
  const auto rounded = testing::MakeSchema(R"(
    context { name: "hour" cyclic { period: 24 } }
    arm { name: "price" numeric { low: 1 high: 500 log: true } }
    crosses { a: "hour" b: "price" })");
  std::vector<std::string> near;
  for (const double value : {0.0, 1.0, 6.0, 12.5, -3.0, 1e6, 499.0, 0.1}) {
    near.push_back(FeatureCase(*rounded, {{"hour", Number(value)}}, {{"price", Number(value)}}));
  }
  const auto lines = [](const FeatureSchema& one) {
    return std::vector{Object({{"l2_max", Bits(one.l2_max())}, {"lines", Text(one.Text())}})};
  };
  return File("features", 1,
              {{"schema", lines(*schema)},
               {"vectors", cases},
               {"schema_with_libm", lines(*rounded)},
               {"vectors_with_libm", near}});
}

}  // namespace bandana::vectors
