#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/design/model_spec.h"
#include "common/ranking/policies/list_rules.h"
#include "common/ranking/policies/selection_rules.h"

namespace bandana::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kOne[] = "reporting { one_per_decision: true } ";

std::optional<ModelSpec> Parse(const std::string& text, std::vector<ConfigError>& errors) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'm' " + text, &config));
  return ParseModelConfig(config, "", /*allow_files=*/false, errors);
}

TEST(DecisionLogConfigTest, DefaultsAreAWeekWithContextsWhereNothingIsPrivate) {
  std::vector<ConfigError> errors;
  auto spec = Parse("dimension: 2 shared {} mode: NON_PRIVATE decision_log {}", errors);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->decision_log->keep, absl::Hours(168));
  EXPECT_EQ(spec->decision_log->bytes_max, std::uint64_t{1} << 30);
  EXPECT_EQ(spec->decision_log->arms_max, 100);
  EXPECT_TRUE(spec->decision_log->contexts);
  spec = Parse(std::string("dimension: 2 shared {} mode: LOCAL_REWARD decision_log {} ") + kOne +
                   "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }",
               errors);
  ASSERT_TRUE(spec);
  EXPECT_FALSE(spec->decision_log->contexts);
  EXPECT_FALSE(Parse("dimension: 2 shared {} mode: NON_PRIVATE", errors)->decision_log);
}

TEST(DecisionLogConfigTest, FieldsOutOfRangeAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"keep { seconds: 60 }", "decision_log.keep"},
      {"keep { seconds: 99999999999 }", "decision_log.keep"},
      {"bytes_max: 1000", "decision_log.bytes_max"},
      {"arms_max: 1001", "decision_log.arms_max"},
  };
  for (const auto& [field, name] : cases) {
    std::vector<ConfigError> errors;
    EXPECT_FALSE(Parse(
        "dimension: 2 shared {} mode: NON_PRIVATE decision_log { " + std::string(field) + " }",
        errors));
    ASSERT_THAT(errors, SizeIs(1)) << field;
    EXPECT_EQ(errors[0].field, name);
  }
}

// Each is refused with its reason.
TEST(DecisionLogConfigTest, ModelsWithoutARewardPerEventKeepNone) {
  const std::pair<std::string, const char*> cases[] = {
      {"dimension: 2 shared {} mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: "
       "REWARD_RANDOMIZER } ",
       "is refused in mode CENTRAL_REWARD: a mean of raw rewards"},
      {"dimension: 2 shared {} mode: JOINT privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER "
       "counter { horizon: 1000 } } ",
       "is refused in mode JOINT: a mean of raw rewards"},
      {"dimension: 2 shared {} mode: LOCAL_CONTEXT privacy { epsilon: 1 delta: 1e-6 mechanism: "
       "JOINT_GAUSSIAN } ",
       "is refused in mode LOCAL_CONTEXT: devices choose"},
      {"dimension: 2 independent {} mode: LOCAL_REWARD privacy { epsilon: 1 delta: 1e-6 "
       "mechanism: COUNTER counter { horizon: 1000 } } ",
       "is refused with mechanism COUNTER: no event has a released reward"},
      {"dimension: 2 points {} mode: NON_PRIVATE ", "is refused for models of points"},
  };
  for (const auto& [config, reason] : cases) {
    std::vector<ConfigError> errors;
    const std::string with = config + kOne;
    EXPECT_TRUE(Parse(with, errors)) << config << (errors.empty() ? "" : errors[0].message);
    errors.clear();
    EXPECT_FALSE(Parse(with + "decision_log {}", errors)) << config;
    ASSERT_THAT(errors, SizeIs(1)) << config;
    EXPECT_EQ(errors[0].field, "decision_log");
    EXPECT_THAT(errors[0].message, StartsWith(reason));
  }
}

// The arms of ranks before are left out, a pinned arm is alone, and each law is the one that its
// arm was drawn from.
TEST(ListLawsTest, EachRankTellsTheLawOfItsDraw) {
  const std::vector<double> scores = {3, 1, 2};
  const Candidates arms{.means = scores, .scores = scores, .draws = {}};
  const auto rule = MakeUniformMix(0.3);
  const std::vector<double> uniforms = {0.99, 0.0, 0.5};
  std::vector<std::vector<double>> laws(2);
  const auto list = DrawList(*rule, arms, {}, uniforms, laws);
  ASSERT_THAT(list, SizeIs(3));
  EXPECT_THAT(laws[0],
              ElementsAre(DoubleNear(0.8, 1e-12), DoubleNear(0.1, 1e-12), DoubleNear(0.1, 1e-12)));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(laws[rank][list[rank].position], list[rank].given);
  }
  EXPECT_EQ(laws[1][list[0].position], kArmLeftOut);
  std::vector<std::vector<double>> pinned(1, {7, 7});
  DrawList(*rule, arms, {.pins = {{.rank = 0, .position = 1}}}, uniforms, pinned);
  EXPECT_THAT(pinned[0], ElementsAre(kArmLeftOut, 1, kArmLeftOut));
}

}  // namespace
}  // namespace bandana::testing
