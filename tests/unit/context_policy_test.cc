// Configurations of models whose contexts are private, and what device and server agree on.

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/limits.h"
#include "common/design/model_spec.h"
#include "common/design/wire_messages.h"
#include "common/mechanisms/privunit.h"
#include "tests/support/mechanisms.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kBase[] =
    "name: 'm' mode: LOCAL_CONTEXT reward_min: -1 reward_max: 1"
    " reporting { one_per_decision: true } ";

std::optional<ModelSpec> Parse(const std::string& more, std::vector<ConfigError>& errors) {
  v1::ModelConfig config;
  // A field that is given twice takes the later value.
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(kBase + more, &config)) << more;
  return ParseModelConfig(config, "", true, errors);
}
ModelSpec MustParse(const std::string& more) {
  std::vector<ConfigError> errors;
  auto spec = Parse(more, errors);
  EXPECT_TRUE(spec.has_value()) << (errors.empty() ? "" : errors[0].field + errors[0].message);
  return spec.value_or(ModelSpec());
}

TEST(ContextConfigTest, AutoIsPrivunitAndPure) {
  const ModelSpec spec =
      MustParse("dimension: 4 shared {} prior_stddev: 0.5 privacy { epsilon: 2 delta: 1e-6 }");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kPrivUnit);
  EXPECT_EQ(spec.public_spec.delta.value, 0);
  ASSERT_TRUE(spec.public_spec.context.has_value());
  // sqrt(4) 0.5
  EXPECT_EQ(spec.theta_l2_max, 1);
  const ModelSpec bound = MustParse(
      "dimension: 4 shared {} privacy { epsilon: 2 }"
      " exploration { confidence { theta_l2_max: 3 } }");
  EXPECT_EQ(bound.theta_l2_max, 3);
}

TEST(ContextConfigTest, RefusesWhatWouldNameAUserOrAnArm) {
  const struct {
    std::string more, field, message;
  } cases[] = {
      {"dimension: 2 independent {} privacy { epsilon: 1 }", "coupling", "shared"},
      {"dimension: 2 shared {} arms_file: 'a.tsv' privacy { epsilon: 1 }", "arms_file", "refused"},
      {"dimension: 2 shared {} privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }",
       "privacy.mechanism", "PRIVUNIT, JOINT_GAUSSIAN"},
      {"dimension: 2 shared {} privacy { epsilon: 1 mechanism: JOINT_GAUSSIAN }", "privacy.delta",
       "JOINT_GAUSSIAN"},
      {"dimension: 129 shared {} privacy { epsilon: 1 delta: 1e-6 mechanism: JOINT_GAUSSIAN }",
       "privacy", "at most 128"},
      {"dimension: 200 shared {} privacy { epsilon: 15 mechanism: PRIVUNIT }", "privacy",
       "normals"},
      {"dimension: 2 shared {} prior_stddev: 1e6 privacy { epsilon: 1 }", "prior_stddev", "theta"},
      {"dimension: 2 shared {} feature_l2_max: 1e6 privacy { epsilon: 1 }", "feature_l2_max",
       "rescale"},
      {"dimension: 2 shared {}", "privacy", "required"},
  };
  for (const auto& each : cases) {
    std::vector<ConfigError> errors;
    EXPECT_FALSE(Parse(each.more, errors).has_value()) << each.more;
    ASSERT_EQ(errors.size(), 1) << each.more;
    EXPECT_EQ(errors[0].field, each.field) << each.more;
    EXPECT_THAT(errors[0].message, HasSubstr(each.message));
  }
}

constexpr char kLogistic[] =
    "dimension: 4 shared {} link: LOGISTIC reward_min: 0 reward_max: 1 prior_stddev: 2"
    " privacy { epsilon: 2 delta: 1e-6 } ";

// Each entry of theta has prior deviation 2; the server's model learns theta / 4 from rewards in
// [-1/2, 1/2].
TEST(ContextConfigTest, ALogisticModelLearnsAQuarterOfTheta) {
  const ModelSpec spec = MustParse(kLogistic);
  EXPECT_EQ(spec.public_spec.link, Link::kLogistic);
  EXPECT_EQ(spec.bandit.prior_variance, 0.25);
  EXPECT_EQ(spec.theta_l2_max, 1);
  EXPECT_EQ(ReportedRewardAbsMax(spec.public_spec), 0.5);
  EXPECT_EQ(testing::ContextsOf(spec.public_spec)->statistic().reward_abs_max(), 0.5);
  const ModelSpec bound =
      MustParse(std::string(kLogistic) + "exploration { confidence { theta_l2_max: 6 } }");
  EXPECT_EQ(bound.theta_l2_max, 1.5);
  // In units of the width the bound is equal for theta and for theta / 4.
  EXPECT_EQ(bound.bandit.exploration.theta_l2_max / std::sqrt(bound.bandit.prior_variance), 3);
  // Nothing is scaled with a straight line.
  EXPECT_EQ(MustParse("dimension: 4 shared {} link: LINEAR prior_stddev: 2 privacy { epsilon: 2 }")
                .bandit.prior_variance,
            4);
}

TEST(ContextConfigTest, LogisticIsForPrivateContextsAndRewardsBetweenZeroAndOne) {
  const struct {
    std::string more, message;
  } cases[] = {
      {"dimension: 2 shared {} link: LOGISTIC privacy { epsilon: 1 }", "[0, 1], got [-1, 1]"},
      {"dimension: 2 shared {} link: LOGISTIC mode: LOCAL_REWARD reward_min: 0"
       " privacy { epsilon: 1 }",
       "mode LOCAL_CONTEXT"},
      {"dimension: 2 shared {} link: 7 reward_min: 0 privacy { epsilon: 1 }",
       "LINEAR or LOGISTIC, got 7"},
  };
  for (const auto& each : cases) {
    std::vector<ConfigError> errors;
    EXPECT_FALSE(Parse(each.more, errors).has_value()) << each.more;
    ASSERT_EQ(errors.size(), 1) << each.more;
    EXPECT_EQ(errors[0].field, "link");
    EXPECT_THAT(errors[0].message, HasSubstr(each.message));
  }
}

TEST(ContextConfigTest, TheDeviceIsToldTheLinkAndHoldsTheServerToIt) {
  const PublicSpec spec = MustParse(kLogistic).public_spec;
  v1::GetModelResponse response = ToProto(spec);
  EXPECT_EQ(response.link(), v1::LOGISTIC);
  const auto parsed = ParsePublicSpec(response.SerializeAsString());
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(parsed->link, Link::kLogistic);
  EXPECT_EQ(parsed->PolicyHash(), spec.PolicyHash());
  response.set_link(v1::LINEAR);
  EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
              StatusIs(Code::kFailedPrecondition, "link of model m is not what policy_text says"));
  PublicSpec reward = spec;
  reward.mode = Mode::kLocalReward;
  EXPECT_THAT(ParsePublicSpec(ToProto(reward).SerializeAsString()),
              StatusIs(Code::kInvalidArgument, "LOCAL_CONTEXT"));
}

TEST(ContextConfigTest, OtherModesRefuseItsMechanisms) {
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'm' dimension: 2 shared {} mode: LOCAL_REWARD reporting { one_per_decision: true }"
      " privacy { epsilon: 1 mechanism: PRIVUNIT }",
      &config));
  std::vector<ConfigError> errors;
  EXPECT_FALSE(ParseModelConfig(config, "", true, errors).has_value());
  ASSERT_EQ(errors.size(), 1);
  EXPECT_EQ(errors[0].field, "privacy.mechanism");
}

TEST(ContextConfigTest, TheDeviceDerivesTheSamePolicy) {
  for (const char* mechanism : {"PRIVUNIT", "JOINT_GAUSSIAN"}) {
    const ModelSpec spec = MustParse(std::string("dimension: 3 shared {} privacy { epsilon: 1 ") +
                                     "delta: 1e-6 mechanism: " + mechanism + " }");
    const auto parsed = ParsePublicSpec(ToProto(spec.public_spec).SerializeAsString());
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(*parsed->context, *spec.public_spec.context);
    EXPECT_EQ(parsed->PolicyHash(), spec.public_spec.PolicyHash());
    // A server that draws by another grid or design says so, and the device refuses it.
    PublicSpec other = spec.public_spec;
    ++other.context->grid_bits;
    EXPECT_THAT(ParsePublicSpec(ToProto(other).SerializeAsString()),
                StatusIs(Code::kFailedPrecondition, "context_parameters"));
    other = spec.public_spec;
    other.context->parameters[0] ^= std::byte{1};
    EXPECT_THAT(ParsePublicSpec(ToProto(other).SerializeAsString()),
                StatusIs(Code::kFailedPrecondition, "context_parameters"));
  }
}

PublicSpec SpecOf(MechanismId mechanism, double reward_min = -1) {
  PublicSpec spec;
  spec.name = "m";
  spec.dimension = 2;
  spec.feature_l2_max = 2;
  spec.reward_range = {reward_min, 1};
  spec.mode = Mode::kLocalContext;
  spec.mechanism = mechanism;
  spec.epsilon = {1};
  if (mechanism == MechanismId::kJointGaussian) spec.delta = {1e-5};
  return spec;
}

TEST(ContextReportsTest, CostsAndVariancesAreThoseOfTheMechanism) {
  const auto privunit = testing::ContextsOf(SpecOf(MechanismId::kPrivUnit));
  EXPECT_EQ(privunit->cost().pure->value, 1);
  const JointVariance one = PrivUnit::Create(privunit->statistic(), Epsilon{1})->EntryVariance();
  EXPECT_EQ(privunit->variance().gram, one.gram_diagonal);
  EXPECT_EQ(privunit->variance().moment, one.moment);
  const auto gaussian = testing::ContextsOf(SpecOf(MechanismId::kJointGaussian));
  // sigma of phi is 7.914 at (1, 1e-5) for every d >= 2 (joint_gaussian.md); a diagonal entry of x
  // x' counts in L^2 = 4, one of r x in L R = 2.
  EXPECT_NEAR(std::sqrt(gaussian->variance().gram), 4 * 7.914, 4 * 0.001);
  EXPECT_NEAR(std::sqrt(gaussian->variance().moment), 2 * 7.914, 2 * 0.001);
  EXPECT_TRUE(gaussian->cost().rho.has_value());
  EXPECT_THAT(MakeMechanism(SpecOf(MechanismId::kCounter)), StatusIs(Code::kInvalidArgument));
  // R is the larger end of the range.
  EXPECT_EQ(testing::ContextsOf(SpecOf(MechanismId::kPrivUnit, -3))->statistic().reward_abs_max(),
            3);
}

TEST(ContextReportsTest, OnlyIntegersThatADeviceReleasesFit) {
  const auto gaussian = testing::ContextsOf(SpecOf(MechanismId::kJointGaussian));
  std::vector<std::int64_t> values(5, 0);
  values[0] = std::int64_t{1} << gaussian->statistic().grid_bits();
  ASSERT_TRUE(gaussian->Fits({"", values}));
  // phi_0 = 1 stands for x_0^2 = L^2.
  EXPECT_EQ(gaussian->Decode({"", values})->gram[0], 4);
  EXPECT_EQ(gaussian->Decode({"", values})->moment[0], 0);
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
        std::int64_t{1} << 40}) {
    values[4] = value;
    EXPECT_FALSE(gaussian->Fits({"", values})) << value;
  }
  EXPECT_FALSE(gaussian->Fits({"", std::vector<std::int64_t>(4)}));
  EXPECT_FALSE(gaussian->Fits({"", std::vector<std::int64_t>(6)}));
  values[4] = 0;
  EXPECT_FALSE(gaussian->Fits({std::string(16, 's'), values}));
  EXPECT_THAT(gaussian->Decode({std::string(16, 's'), {}}), StatusIs(Code::kDataLoss));
}

}  // namespace
}  // namespace bandana::testing
