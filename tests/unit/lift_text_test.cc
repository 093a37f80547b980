// The line of --check_config about what a policy can show.
#include "server/ops/config/lift_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bandana::server {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::string TextOf(const std::string& policy, const std::string& mode = "NON_PRIVATE") {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'm' dimension: 2 shared {} reward_max: 1 reward_binary: true reporting { "
      "one_per_decision: true } decision_log {} "
      "policy { " +
          policy + " } mode: " + mode,
      &config));
  std::vector<ConfigError> errors;
  const auto spec = ParseModelConfig(config, "", /*allow_files=*/false, errors);
  EXPECT_TRUE(spec);
  return LiftText(*spec);
}

// The number in "seen after some N decisions", or "before some N decisions".
double DecisionsIn(const std::string& text) {
  const auto at = text.find(" some ");
  EXPECT_NE(at, std::string::npos) << text;
  return std::stod(text.substr(at + 6));
}

TEST(LiftTextTest, AShareOfATenthCanAndOneOfAHundredthCannot) {
  const std::string tenth = TextOf("uniform_mix { uniform_share: 0.1 }");
  EXPECT_THAT(tenth, StartsWith("weights up to 100 (10 arms); a lift of 10 % is seen after some "));
  const std::string hundredth = TextOf("uniform_mix { uniform_share: 0.01 }");
  EXPECT_THAT(hundredth, StartsWith("weights up to 1e+03 (10 arms); a lift of 10 % is NOT seen"));
  EXPECT_THAT(hundredth, HasSubstr("A uniform_share of 0.1 takes"));
  EXPECT_GT(DecisionsIn(hundredth), 5 * DecisionsIn(tenth));
  EXPECT_THAT(TextOf("thompson {}"), HasSubstr("NOT seen"));
  EXPECT_THAT(TextOf("thompson { uniform_share: 0.1 }"), HasSubstr("is seen after some"));
}

TEST(LiftTextTest, ArmsWithoutAChanceLeaveBounds) {
  EXPECT_THAT(TextOf("thompson { uniform_share: 0 }"), StartsWith("bounds alone: "));
}

TEST(LiftTextTest, PoliciesOfScoresAreToldByTheirLaw) {
  EXPECT_THAT(TextOf("inverse_gap { gamma: 100 }"), HasSubstr("is seen after some"));
  // Next to uniform whatever the model knows.
  EXPECT_THAT(TextOf("softmax { temperature: 100 }"), HasSubstr("differs too little from uniform"));
}

// docs/design/judging.md, Released rewards.
TEST(LiftTextTest, ReleasedRewardsTakeMore) {
  const auto at = [](const char* epsilon) {
    return DecisionsIn(TextOf("uniform_mix { uniform_share: 0.1 }",
                              std::string("LOCAL_REWARD privacy { epsilon: ") + epsilon +
                                  " mechanism: REWARD_RANDOMIZER }"));
  };
  const double raw = DecisionsIn(TextOf("uniform_mix { uniform_share: 0.1 }"));
  EXPECT_GT(at("2"), 1.8 * raw);
  EXPECT_GT(at("1"), 2 * at("2"));
  EXPECT_LT(at("1"), 20 * raw);
}

}  // namespace
}  // namespace bandana::server
