// Vectors of named features lie in the ball for every schema and every value, and are what a slow
// reference says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/design/wire_messages.h"
#include "common/features/encoder.h"
#include "common/mechanisms/feature_ball.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t n) { return random() % n; }

// A field of any kind; hostile parameters that are legal.
v1::FeatureField AnyField(Random& random, const std::string& name) {
  v1::FeatureField field;
  field.set_name(name);
  const double scale = std::pow(10.0, static_cast<double>(Below(random, 30)) - 15.0);
  switch (Below(random, 8)) {
    case 0:
      for (const char* const value : {"a", "b", "7"})
        field.mutable_categorical()->add_values(value);
      break;
    case 1:
      field.mutable_categorical()->set_hash_bits(2);
      break;
    case 2:
      field.mutable_numeric()->set_low(scale);
      field.mutable_numeric()->set_high(std::min(scale * 3, 1e15));
      field.mutable_numeric()->set_log(Below(random, 2) == 0);
      if (scale * 3 > 1e15) field.mutable_numeric()->set_low(-1e15);
      if (scale * 3 > 1e15) field.mutable_numeric()->set_log(false);
      break;
    case 3:
      field.mutable_cyclic()->set_period(std::min(scale, 1e9));
      break;
    case 4:
      field.mutable_boolean();
      break;
    case 5:
      field.mutable_set()->set_hash_bits(3);
      break;
    case 6:
      field.mutable_text()->set_hash_bits(2);
      field.mutable_text()->set_ngrams(static_cast<std::uint32_t>(Below(random, 4)));
      break;
    default:
      field.mutable_vector()->set_dimension(3);
      field.mutable_vector()->set_l2_max(std::min(scale, 1e6));
  }
  return field;
}

v1::FeatureSchema AnySchema(Random& random) {
  v1::FeatureSchema schema;
  schema.set_bias(Below(random, 2) == 0);
  const std::size_t context = Below(random, 4);
  const std::size_t arm = 1 + Below(random, 3);
  for (std::size_t i = 0; i < context; ++i) {
    *schema.add_context() = AnyField(random, "c" + std::to_string(i));
  }
  for (std::size_t i = 0; i < arm; ++i)
    *schema.add_arm() = AnyField(random, "a" + std::to_string(i));
  const auto cross = [&](const std::string& a, const std::string& b) {
    schema.add_crosses()->set_a(a);
    schema.mutable_crosses(schema.crosses_size() - 1)->set_b(b);
  };
  if (context > 0) cross("c0", "a0");
  if (context > 1) cross("a0", "c1");
  if (context > 1) cross("c1", "c0");
  if (arm > 1) cross("a1", "a0");
  return schema;
}

double AnyNumber(Random& random) {
  const double numbers[] = {0,
                            -0.0,
                            1,
                            -1,
                            0.5,
                            3,
                            7,
                            1e-300,
                            -1e300,
                            1.7976931348623157e308,
                            5e-324,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(),
                            9007199254740993.0,
                            1e-5};
  return numbers[Below(random, std::size(numbers))];
}

Value AnyValue(Random& random, int depth) {
  Value value;
  const char* const texts[] = {"a", "b", "", "the quick brown fox", "\xc3\xa9\xc3\xa9", "7"};
  switch (Below(random, depth > 0 ? 7 : 4)) {
    case 0:
      value.set_number_value(AnyNumber(random));
      break;
    case 1:
      value.set_string_value(texts[Below(random, std::size(texts))]);
      break;
    case 2:
      value.set_bool_value(Below(random, 2) == 0);
      break;
    case 3:
      value.set_null_value(google::protobuf::NULL_VALUE);
      break;
    case 4:
      (*value.mutable_struct_value()->mutable_fields())["a0"] = AnyValue(random, depth - 1);
      break;
    default:
      for (std::size_t i = Below(random, 5); i > 0; --i) {
        *value.mutable_list_value()->add_values() = AnyValue(random, depth - 1);
      }
  }
  return value;
}

Struct AnyValues(Random& random, const std::string& prefix) {
  Struct values;
  for (int i = 0; i < 4; ++i) {
    if (Below(random, 4) == 0) continue;
    (*values.mutable_fields())[prefix + std::to_string(i)] = AnyValue(random, 2);
  }
  return values;
}

double Norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

TEST(FeaturesPropertyTest, EveryVectorLiesInTheBallWithoutBeingClipped) {
  Random random(20);
  for (int round = 0; round < 3000; ++round) {
    const v1::FeatureSchema message = AnySchema(random);
    const double l2_max = std::pow(10.0, static_cast<double>(Below(random, 9)) - 4.0);
    const auto schema =
        FeatureSchema::Make(FromProto(message), l2_max, 4096,
                            [](std::string_view f, const std::string& m) { FAIL() << f << m; });
    ASSERT_NE(schema, nullptr) << message.DebugString();
    ValueLog log;
    log.Begin(ValueRule::kHidden, schema->fields().size());
    EncodedContext context;
    const auto d = static_cast<std::size_t>(schema->dimension());
    std::vector<double> row(d);
    std::vector<double> x(d);
    ASSERT_THAT(
        EncodeContext(*schema, FromProto(AnyValues(random, "c")), {"context"}, log, context),
        IsOk());
    ASSERT_THAT(EncodeArm(*schema, FromProto(AnyValues(random, "a")), {"arm"}, log, row), IsOk());
    Join(*schema, context, row, x);
    ASSERT_TRUE(InBall(x, l2_max)) << message.DebugString() << Norm(x);
    ASSERT_THAT(CheckArmRow(*schema, row), IsOk()) << message.DebugString();
    // Crosses are products of what stands before them: of scaled blocks, so one scale too many.
    for (const CrossPlace& cross : schema->crosses()) {
      const int size_b = schema->fields()[static_cast<std::size_t>(cross.b)]->size();
      for (int i = 0; i < schema->fields()[static_cast<std::size_t>(cross.a)]->size(); ++i) {
        for (int j = 0; j < size_b; ++j) {
          const double a = x[static_cast<std::size_t>(schema->begin(cross.a) + i)];
          const double b = x[static_cast<std::size_t>(schema->begin(cross.b) + j)];
          ASSERT_NEAR(x[static_cast<std::size_t>(cross.begin + i * size_b + j)],
                      a * b / schema->scale(), 1e-12 * l2_max);
        }
      }
    }
  }
}

// The bound is reached: a smaller scale would waste it.
TEST(FeaturesPropertyTest, FullVectorsReachTheBound) {
  const auto schema = testing::MakeSchema(testing::kShopSchema, 3);
  ValueLog log;
  log.Begin(ValueRule::kOpen, schema->fields().size());
  EncodedContext context;
  std::vector<double> row(39);
  std::vector<double> x(39);
  ASSERT_THAT(
      EncodeContext(*schema, FromProto(testing::ValuesOf(R"({"device": "ios", "hour": 7})")),
                    {"context"}, log, context),
      IsOk());
  ASSERT_THAT(
      EncodeArm(*schema, FromProto(testing::ValuesOf(R"({"price": 1, "tags": ["a", "b", "c"]})")),
                {"arm"}, log, row),
      IsOk());
  Join(*schema, context, row, x);
  EXPECT_NEAR(Norm(x), 3, 1e-9);
}

}  // namespace
}  // namespace bandana::testing
