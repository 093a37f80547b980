#include "common/design/selection_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/design/model_spec.h"
#include "common/ranking/policies/selection_rule.h"
#include "google/protobuf/text_format.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kPlain[] = "shared {} mode: NON_PRIVATE ";
constexpr char kOneEach[] = "reporting { one_per_decision: true } ";

// The specification, or the mistakes.
std::optional<ModelSpec> Parse(const std::string& text, std::string& mistakes) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("name: 'm' dimension: 2 ", text), &config));
  std::vector<ConfigError> errors;
  auto spec = ParseModelConfig(config, "", /*allow_files=*/false, errors);
  mistakes.clear();
  for (const ConfigError& error : errors) {
    absl::StrAppend(&mistakes, error.field, ": ", error.message, "; ");
  }
  return spec;
}

std::string WordsOf(const std::string& text) {
  std::string mistakes;
  const auto spec = Parse(text, mistakes);
  if (!spec) return mistakes;
  return spec->policy == nullptr ? "none" : spec->policy->words();
}

TEST(SelectionPolicy, EachRuleIsMadeWithItsDefaults) {
  EXPECT_EQ(WordsOf(kPlain), "none");
  EXPECT_THAT(WordsOf(absl::StrCat(kPlain, "policy { uniform_mix { uniform_share: 0.1 } }")),
              HasSubstr("uniform mix: any arm with probability 0.1"));
  EXPECT_THAT(WordsOf(absl::StrCat(kPlain, "policy { thompson {} }")),
              HasSubstr("one of 100 draws of the posterior, uniform share 0.01"));
  EXPECT_THAT(WordsOf(absl::StrCat(kPlain, "policy { thompson { draws: 7 uniform_share: 0 } }")),
              HasSubstr("one of 7 draws of the posterior, uniform share 0"));
  EXPECT_THAT(WordsOf(absl::StrCat(kPlain, "policy { softmax { temperature: 0.5 } }")),
              HasSubstr("temperature 0.5"));
  EXPECT_THAT(WordsOf(absl::StrCat(kPlain, "policy { inverse_gap { gamma: 20 } }")),
              HasSubstr("gamma 20"));
}

TEST(SelectionPolicy, WhatIsOutOfRangeIsNamed) {
  struct Case {
    std::string policy;
    std::string mistake;
  };
  const Case cases[] = {
      {"policy {}", "policy.rule: must be uniform_mix, thompson, softmax or inverse_gap"},
      {"policy { uniform_mix {} }", "policy.uniform_mix.uniform_share: must be in (0, 1]"},
      {"policy { uniform_mix { uniform_share: 1.5 } }", "policy.uniform_mix.uniform_share: "},
      {"policy { uniform_mix { uniform_share: nan } }", "policy.uniform_mix.uniform_share: "},
      {"policy { thompson { draws: 1001 } }", "policy.thompson.draws: must be in [1, 1000]"},
      {"policy { thompson { uniform_share: -0.1 } }", "policy.thompson.uniform_share: "},
      {"policy { softmax {} }", "policy.softmax.temperature: "},
      {"policy { inverse_gap { gamma: -1 } }", "policy.inverse_gap.gamma: "},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(WordsOf(absl::StrCat(kPlain, c.policy)), HasSubstr(c.mistake)) << c.policy;
  }
}

TEST(SelectionPolicy, ModesAndFamiliesWithoutOneSaySo) {
  constexpr char kMix[] = "policy { uniform_mix { uniform_share: 0.1 } } ";
  EXPECT_THAT(WordsOf(absl::StrCat(kMix, kOneEach, "shared {} mode: LOCAL_REWARD ",
                                   "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }")),
              HasSubstr("uniform mix"));
  EXPECT_THAT(WordsOf(absl::StrCat(kMix, kOneEach, "shared {} mode: CENTRAL_REWARD ",
                                   "privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }")),
              HasSubstr("policy: is for modes NON_PRIVATE and LOCAL_REWARD"));
  EXPECT_THAT(WordsOf(absl::StrCat(kMix, kOneEach, "shared {} mode: LOCAL_CONTEXT ",
                                   "privacy { epsilon: 1 mechanism: PRIVUNIT }")),
              HasSubstr("policy: is for modes NON_PRIVATE and LOCAL_REWARD"));
  EXPECT_THAT(WordsOf(absl::StrCat(kMix, "arms {} mode: NON_PRIVATE")),
              HasSubstr("policy: is not for models of arms: their own policy draws the arm"));
}

// Draws of an effect that a group of arms shares would need a vector per group.
TEST(SelectionPolicy, ThompsonRefusesEffectsThatItCannotDraw) {
  constexpr char kGenre[] =
      "mode: NON_PRIVATE policy { thompson {} } effects { arm_groups: 'genre'"
      " effects { name: 'all' } effects { name: 'genre' keys { arm_group: 'genre' } ";
  EXPECT_THAT(WordsOf(absl::StrCat(kGenre, "} }")),
              HasSubstr("policy.thompson.draws: cannot be made of effect genre"));
  EXPECT_THAT(WordsOf(absl::StrCat(kGenre, "features: CONSTANT } }")), HasSubstr("Thompson"));
}

TEST(SelectionPolicy, DevicesRankByTheScoreAlone) {
  std::string mistakes;
  EXPECT_THAT(CheckRankedByScore(*Parse(kPlain, mistakes)), IsOk());
  EXPECT_THAT(CheckRankedByScore(*Parse(absl::StrCat(kPlain, "policy { thompson {} }"), mistakes)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "model m draws its arms"));
}

}  // namespace
}  // namespace bandana::testing
