// The choice that AUTO becomes when a server reads a configuration.
#include "common/design/planner/served_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/design/planner/choice_table.h"
#include "common/design/planner/context_plan.h"
#include "common/design/privacy_config.h"
#include "common/promise/privacy_rules.h"

namespace bandana::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ModelSpec Served(const std::string& privacy, const std::string& mode = "CENTRAL_REWARD") {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "name: 'm' dimension: 2 shared {} mode: " + mode +
          " reward_min: -1 reward_max: 1 "
          "reward_stddev: 0.1 reporting { one_per_decision: true } privacy { " +
          privacy + " }",
      &config));
  std::vector<ConfigError> errors;
  auto spec = ParseServedModel(config, "", false, errors);
  for (const ConfigError& e : errors) ADD_FAILURE() << e.field << ": " << e.message;
  return spec ? *std::move(spec) : ModelSpec{};
}

TEST(ServedConfig, AutoTakesACounterForLongStreamsAtSmallEpsilon) {
  const ModelSpec spec = Served("epsilon: 0.5 delta: 1e-5 planned_events_per_user: 1000000");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kCounter);
  EXPECT_EQ(*spec.public_spec.counter, (CounterSpec{CounterKind::kEpochs, 1'000'000, 2'000'000}));
  EXPECT_EQ(spec.public_spec.delta, Delta{1e-5});
  // A stored configuration names the choice: a later planner does not change it.
  EXPECT_EQ(spec.config.privacy().mechanism(), v1::COUNTER);
  EXPECT_THAT(spec.plan, HasSubstr("AUTO: counter (epochs)\n"));
  EXPECT_THAT(spec.plan, HasSubstr("* counter (epochs)"));
}

TEST(ServedConfig, AutoTakesWhatCanForgetWhereTheModelIsTo) {
  const ModelSpec spec = Served(
      "epsilon: 0.5 delta: 1e-5 planned_events_per_user: 1000000 } half_life { seconds: 3600");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_THAT(spec.plan, HasSubstr("cannot forget: half_life"));
}

TEST(ServedConfig, AutoTakesTheRandomizerForShortStreams) {
  const ModelSpec spec = Served("epsilon: 0.5 delta: 1e-5 planned_events_per_user: 100");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_EQ(spec.public_spec.delta, Delta{0});
  EXPECT_EQ(spec.config.privacy().mechanism(), v1::REWARD_RANDOMIZER);
  EXPECT_THAT(spec.plan, HasSubstr("* randomizer"));
}

TEST(ServedConfig, AutoCentresOnTheDevice) {
  for (const char* delta : {"", "delta: 1e-5"}) {
    const ModelSpec spec = Served(std::string("epsilon: 0.5 ") + delta, "LOCAL_REWARD");
    EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kCentredRandomizer);
    EXPECT_EQ(spec.public_spec.delta, Delta{0});
    EXPECT_THAT(spec.plan, HasSubstr("* centred randomizer"));
  }
}

TEST(ServedConfig, AutoPerturbsContextsByTheLeastNoise) {
  for (const char* delta : {"", "delta: 1e-5"}) {
    const ModelSpec spec = Served(std::string("epsilon: 1 ") + delta, "LOCAL_CONTEXT");
    EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kPrivUnit);
    EXPECT_EQ(spec.public_spec.delta, Delta{0});
    EXPECT_TRUE(spec.public_spec.context.has_value());
    EXPECT_EQ(spec.config.privacy().mechanism(), v1::PRIVUNIT);
    EXPECT_THAT(spec.plan, HasSubstr("* privunit"));
  }
}

// The plan is for the model of the straightened events: R = 1/2, theta / 4.
TEST(ServedConfig, AutoPlansALogisticModelForWhatIsReported) {
  const std::string logistic =
      "} reward_min: 0 link: LOGISTIC prior_stddev: 2 "
      "reporting { one_per_decision: true ";
  const ModelSpec spec = Served("epsilon: 1 delta: 1e-5 " + logistic, "LOCAL_CONTEXT");
  EXPECT_EQ(spec.public_spec.link, Link::kLogistic);
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kPrivUnit);
  EXPECT_THAT(spec.plan, HasSubstr("* privunit"));
  const auto plan = MakeContextPlan({.dimension = 2,
                                     .context_l2_max = 1,
                                     .reward_abs_max = 0.5,
                                     .theta_l2_max = std::sqrt(2) / 2,
                                     .reward_stddev = 0.1,
                                     .prior_stddev = 0.5,
                                     .reports = kPlannedEventsDefault,
                                     .epsilon = {1},
                                     .delta = {1e-5}});
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(spec.plan, HasSubstr(ExplainContextPlan(*plan)));
}

// Whose effects then have weights, which windows around predictions would rule out.
TEST(ServedConfig, AutoTakesTheRandomizerForEffects) {
  const auto served = [](const std::string& more) {
    v1::ModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(
        "name: 'm' dimension: 2 effects { standard {} } reporting { one_per_decision: true } " +
            more,
        &config));
    std::vector<ConfigError> errors;
    const auto spec = ParseServedModel(config, "", false, errors);
    EXPECT_TRUE(spec && spec->public_spec.mechanism == MechanismId::kRewardRandomizer &&
                spec->effects->weights);
    const auto text = ExplainChoice(spec->public_spec, spec->config);
    return text.ok() ? *text : std::string();
  };
  const std::string local = served("mode: LOCAL_REWARD privacy { epsilon: 2 }");
  EXPECT_THAT(local, HasSubstr("REWARD_RANDOMIZER   noise sd"));
  EXPECT_THAT(local, HasSubstr("CENTRED_RANDOMIZER  noise sd"));
  EXPECT_THAT(served("mode: LOCAL_REWARD reward_binary: true privacy { epsilon: 2 }"),
              Not(HasSubstr("CENTRED")));
  EXPECT_THAT(served("mode: CENTRAL_REWARD privacy { epsilon: 2 }"), Not(HasSubstr("CENTRED")));
}

TEST(ServedConfig, AutoRandomizesBinaryRewards) {
  const ModelSpec spec =
      Served("epsilon: 2 } reward_binary: true arms_max: 7 token_lifetime { seconds: 3600",
             "LOCAL_REWARD");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_THAT(spec.plan, HasSubstr("* randomizer (one bit)"));
}

TEST(ServedConfig, AutoKeepsTheCounterPolicyThatIsGiven) {
  const ModelSpec spec = Served(
      "epsilon: 0.5 delta: 1e-5 planned_events_per_user: 1000000 "
      "counter { kind: HONAKER steps_max: 5000000 }");
  EXPECT_EQ(*spec.public_spec.counter, (CounterSpec{CounterKind::kHonaker, 1'000'000, 5'000'000}));
}

TEST(ServedConfig, WithoutDeltaOnlyPureMechanismsAreLeft) {
  const ModelSpec spec = Served("epsilon: 0.5 planned_events_per_user: 1000000");
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer);
  EXPECT_THAT(spec.plan, HasSubstr("cannot be used: a counter's noise is Gaussian"));
}

TEST(ServedConfig, WithANameThereIsNothingToPlan) {
  EXPECT_THAT(Served("epsilon: 0.5 delta: 1e-5 mechanism: COUNTER").plan, IsEmpty());
}

}  // namespace
}  // namespace bandana::server
