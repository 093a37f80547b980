// Schemas of named features in a model's configuration, policy and identity.
#include "common/design/features_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/design/identity.h"
#include "common/design/model_spec.h"
#include "common/design/wire_messages.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

v1::ModelConfig ConfigOf(const std::string& rest, const std::string& schema = kShopSchema) {
  v1::ModelConfig config;
  const std::string text = "name: 'shop' " + rest + " features {" + schema + "}";
  BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

std::optional<ModelSpec> Parse(const v1::ModelConfig& config, std::vector<std::string>* mistakes) {
  std::vector<ConfigError> errors;
  auto spec = ParseModelConfig(config, "", /*allow_files=*/false, errors);
  for (const ConfigError& error : errors) mistakes->push_back(error.field + ": " + error.message);
  return spec;
}

ModelSpec SpecOf(const std::string& rest, const std::string& schema = kShopSchema) {
  std::vector<std::string> mistakes;
  auto spec = Parse(ConfigOf(rest, schema), &mistakes);
  EXPECT_THAT(mistakes, ElementsAre());
  return *std::move(spec);
}

std::vector<std::string> MistakesOf(const std::string& rest,
                                    const std::string& schema = kShopSchema) {
  std::vector<std::string> mistakes;
  Parse(ConfigOf(rest, schema), &mistakes);
  return mistakes;
}

constexpr char kOpen[] = "mode: NON_PRIVATE shared {}";

TEST(FeaturesConfigTest, DimensionFollows) {
  const ModelSpec spec = SpecOf(kOpen);
  EXPECT_EQ(spec.public_spec.dimension, 39);
  EXPECT_EQ(spec.bandit.dimension, 39);
  EXPECT_EQ(SpecOf(std::string(kOpen) + " dimension: 39").public_spec.dimension, 39);
  EXPECT_THAT(MistakesOf(std::string(kOpen) + " dimension: 40"),
              ElementsAre("dimension: follows from features: leave it out, or give 39, got 40"));
}

TEST(FeaturesConfigTest, MistakesHaveThePathOfTheConfiguration) {
  EXPECT_THAT(MistakesOf(kOpen, "context { name: 'a' cyclic {} }"),
              ElementsAre("features.context[0].cyclic.period: must be in (0, 1e+09], got 0"));
  EXPECT_THAT(MistakesOf(kOpen, ""), ElementsAre(StartsWith("features: must have a bias or")));
  EXPECT_THAT(MistakesOf("mode: NON_PRIVATE arms {}"),
              ElementsAre("features: is not for models of arms"));
}

TEST(FeaturesConfigTest, PolicyReadsBackOnTheDevice) {
  const ModelSpec spec = SpecOf(
      "mode: LOCAL_CONTEXT shared {} privacy { epsilon: 2 mechanism: PRIVUNIT }"
      "reporting { one_per_decision: true }");
  const v1::GetModelResponse policy = ToProto(spec.public_spec);
  const auto read = ParsePublicSpec(policy.SerializeAsString());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->features->Text(), spec.public_spec.features->Text());
  // Who changes what an entry means changes the policy.
  v1::GetModelResponse other = policy;
  other.mutable_features()->mutable_arm(0)->mutable_numeric()->set_high(100);
  EXPECT_THAT(ParsePublicSpec(other.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "of model shop is not what policy_text says"));
  other = policy;
  other.clear_features();
  EXPECT_THAT(ParsePublicSpec(other.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "of model shop is not what policy_text says"));
  other = policy;
  other.set_dimension(38);
  EXPECT_THAT(ParsePublicSpec(other.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "dimension of model shop is not"));
  other.clear_policy_text();
  EXPECT_THAT(ParsePublicSpec(other.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, "must be the schema's, 39, got 38"));
}

TEST(FeaturesConfigTest, AChangedSchemaIsAnotherModel) {
  const Identity stored = IdentityOf(SpecOf(kOpen), {});
  EXPECT_THAT(CheckSameModel(stored, stored), IsOk());
  // As it is read from disk.
  const auto read = ParseIdentity(FormatIdentity(stored));
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(CheckSameModel(*read, stored), IsOk());
  std::string dearer = kShopSchema;
  dearer.replace(dearer.find("high: 500"), 9, "high: 900");
  EXPECT_THAT(
      CheckSameModel(*read, IdentityOf(SpecOf(kOpen, dearer), {})),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "features: changes what the vector means: entry 6: arm=price numeric 1 500"));
  v1::ModelConfig raw = ConfigOf(std::string(kOpen) + " dimension: 39");
  raw.clear_features();
  std::vector<std::string> mistakes;
  const auto without = Parse(raw, &mistakes);
  ASSERT_TRUE(without.has_value());
  EXPECT_THAT(CheckSameModel(*read, IdentityOf(*without, {})),
              StatusIs(absl::StatusCode::kInvalidArgument, "has a schema in the stored state"));
  EXPECT_THAT(CheckSameModel(IdentityOf(*without, {}), *read),
              StatusIs(absl::StatusCode::kInvalidArgument, "has raw vectors in the stored state"));
}

TEST(FeaturesConfigTest, LinesSayWhereFieldsLie) {
  EXPECT_THAT(
      FeatureLines(SpecOf(kOpen).public_spec),
      ElementsAre("every block times 0.408248", "0         bias",
                  HasSubstr("1..3      context=device categorical"),
                  "4..5      context=hour cyclic 24", "6         arm=price numeric 1 500 log",
                  "7..14     arm=tags set hash_bits 3", "15..38    cross=device tags"));
}

}  // namespace
}  // namespace bandana::testing
