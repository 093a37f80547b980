// Which models can show a lift, and the sentence of each that cannot.
#include "common/design/judgeable.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace bandana::testing {
namespace {

ModelSpec Parsed(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'm' " + text, &config));
  std::vector<ConfigError> errors;
  auto spec = ParseModelConfig(config, "", /*allow_files=*/false, errors);
  EXPECT_TRUE(spec) << text << ": " << (errors.empty() ? "" : errors[0].message);
  return *std::move(spec);
}

constexpr char kLinear[] = "dimension: 2 shared {} ";
constexpr char kOne[] = "reporting { one_per_decision: true } ";
constexpr char kMix[] = "policy { uniform_mix { uniform_share: 0.1 } } ";

TEST(JudgeableTest, EachModelHasItsSentence) {
  const std::string one = kOne;
  const std::string linear = kLinear;
  const std::pair<std::string, const char*> cases[] = {
      {linear + one + "mode: CENTRAL_REWARD privacy { epsilon: 1 delta: 1e-6 }",
       "none in mode CENTRAL_REWARD: a mean of raw rewards"},
      {linear + one + "mode: LOCAL_CONTEXT privacy { epsilon: 1 }",
       "none in mode LOCAL_CONTEXT: devices choose"},
      {linear + one + "mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }",
       "none with mechanism CENTRED_RANDOMIZER: rewards are unbiased inside a window"},
      {linear + one + "mode: NON_PRIVATE decision_log {}",
       "none: arms are chosen without chance, so no other choice can be judged. policy {"},
      {linear + kMix + "mode: NON_PRIVATE decision_log {}",
       "none: a decision without a report has no reward"},
      {linear + kMix + one + "mode: NON_PRIVATE", "none: decisions are not kept"},
  };
  for (const auto& [config, sentence] : cases) {
    const std::string why = WhyNoLift(Parsed(config));
    EXPECT_THAT(why, ::testing::StartsWith(sentence)) << config;
    EXPECT_THAT(why, ::testing::Not(::testing::EndsWith("."))) << config;
  }
}

TEST(JudgeableTest, ModelsThatCanHaveNone) {
  for (const std::string& mode :
       {std::string("mode: NON_PRIVATE"),
        std::string("mode: LOCAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }")}) {
    EXPECT_EQ(WhyNoLift(Parsed(std::string(kLinear) + kMix + kOne + "decision_log {} " + mode)),
              "");
  }
}

// Randomized response of rewards 0 and 1: docs/privacy/reward_randomizer.md.
TEST(JudgeableTest, TheReleasedRangeIsTheRandomizers) {
  const auto range = ReleasedRange(Parsed(std::string(kLinear) + kOne +
                                          "reward_max: 1 reward_binary: true mode: LOCAL_REWARD "
                                          "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }"));
  ASSERT_TRUE(range);
  EXPECT_NEAR(range->min, -1 / std::expm1(1.0), 1e-6);
  EXPECT_NEAR(range->max, 1 + 1 / std::expm1(1.0), 1e-6);
  EXPECT_FALSE(ReleasedRange(Parsed(std::string(kLinear) + "mode: NON_PRIVATE")));
}

}  // namespace
}  // namespace bandana::testing
