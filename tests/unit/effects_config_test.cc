// The settings that a configuration of a model of effects may have, and their meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/design/identity.h"
#include "common/design/model_spec.h"
#include "common/ranking/policies/selection_rule.h"
#include "google/protobuf/text_format.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

v1::ModelConfig ConfigOf(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString("name: 'm' dimension: 3 " + text, &config))
      << text;
  return config;
}

std::vector<ConfigError> ErrorsOf(const std::string& text) {
  std::vector<ConfigError> errors;
  ParseModelConfig(ConfigOf(text), "", false, errors);
  return errors;
}

ModelSpec SpecOf(const std::string& text) {
  std::vector<ConfigError> errors;
  auto spec = ParseModelConfig(ConfigOf(text), "", false, errors);
  for (const auto& error : errors) ADD_FAILURE() << error.field << ": " << error.message;
  return spec ? *std::move(spec) : ModelSpec{};
}

constexpr char kOpen[] = "mode: NON_PRIVATE ";
constexpr char kOnce[] = "reporting { one_per_decision: true } ";

std::vector<std::string> NamesOf(const ModelSpec& spec) {
  std::vector<std::string> names;
  for (const EffectTerm& term : spec.effects->terms) names.push_back(term.effect.name);
  return names;
}

TEST(EffectsConfig, TheStandardListHasEveryUserGroup) {
  const ModelSpec spec =
      SpecOf(std::string(kOpen) + "effects { standard {} user_groups: ['country', 'plan'] }");
  EXPECT_THAT(NamesOf(spec),
              ElementsAre("shared", "constant", "group_country", "group_plan", "user", "arm"));
  const std::vector<EffectTerm>& terms = spec.effects->terms;
  EXPECT_EQ(terms[3].scope, (EffectScope{.user = 2}));
  EXPECT_EQ(terms[5].scope, (EffectScope{.arm = 0}));
  EXPECT_TRUE(terms[4].effect.vector);
  EXPECT_FALSE(terms[5].effect.vector);
}

TEST(EffectsConfig, DefaultsGrowWithTheSquareOfTheRewardRange) {
  const ModelSpec spec = SpecOf(std::string(kOpen) +
                                "reward_min: -1 reward_max: 1 "
                                "effects { standard {} user_groups: ['country', 'plan'] }");
  const std::vector<EffectTerm>& terms = spec.effects->terms;
  EXPECT_THAT(terms[0].effect.prior_variance, DoubleNear(0.4, 1e-12));
  EXPECT_THAT(terms[2].effect.prior_variance, DoubleNear(4 * 0.08 / 2, 1e-12));
  EXPECT_THAT(terms[4].effect.prior_variance, DoubleNear(0.08, 1e-12));
  EXPECT_THAT(terms[5].effect.prior_variance, DoubleNear(0.12, 1e-12));
  EXPECT_THAT(spec.reward_stddev * spec.reward_stddev, DoubleNear(0.4, 1e-12));
  EXPECT_THAT(spec.bandit.exploration.alpha, DoubleEq(0.2));
}

TEST(EffectsConfig, AListIsTakenAsItIsGiven) {
  const ModelSpec spec = SpecOf(
      std::string(kOpen) +
      "reward_stddev: 2 exploration { alpha: 1 } effects { user_groups: 'plan' arm_groups: 'genre' "
      "effects { name: 'all' } "
      "effects { name: 'plan-genre' keys { user_group: 'plan' } keys { arm_group: 'genre' } "
      "          features: CONSTANT prior_variance: 0.5 } }");
  ASSERT_THAT(spec.effects->terms, SizeIs(2));
  EXPECT_TRUE(spec.effects->terms[0].effect.vector);
  EXPECT_EQ(spec.effects->terms[1].scope, (EffectScope{.user = 1, .arm = 1}));
  EXPECT_EQ(spec.effects->terms[1].effect.prior_variance, 0.5);
  EXPECT_TRUE(spec.effects->terms[1].effect.bounded);
  EXPECT_EQ(spec.reward_stddev, 2);
  EXPECT_EQ(spec.bandit.exploration.alpha, 1);
}

struct Mistake {
  std::string effects;
  std::string field;
  std::string message;  // a part of it
};

TEST(EffectsConfig, EveryMistakeIsNamed) {
  const Mistake mistakes[] = {
      {"", "effects.effects", "one of them is required"},
      {"standard {} effects { name: 'a' }", "effects.effects", "exclude each other"},
      {"effects { name: 'a' } effects { name: 'a' }", "effects.effects[1].name", "as another"},
      {"effects { name: 'A' }", "effects.effects[0].name", "lower-case"},
      {"effects { name: 'a' keys { user_group: 'plan' } }", "effects.effects[0].keys.user_group",
       "must be one of user_groups, got plan"},
      {"effects { name: 'a' keys { arm_group: 'genre' } }", "effects.effects[0].keys.arm_group",
       "must be one of arm_groups"},
      {"effects { name: 'a' keys { user: true } keys { user: true } }",
       "effects.effects[0].keys.of", "a pair is of a user's and an arm's"},
      {"effects { name: 'a' keys {} }", "effects.effects[0].keys.of", "must name a user"},
      {"effects { name: 'a' keys { user: false } }", "effects.effects[0].keys.user",
       "must be true"},
      {"effects { name: 'a' prior_variance: -1 }", "effects.effects[0].prior_variance", "(0, "},
      {"effects { name: 'a' prior_variance: nan }", "effects.effects[0].prior_variance", "(0, "},
      {"standard {} user_groups: 'Plan'", "effects.user_groups", "lower-case"},
      {"standard {} user_groups: ['plan', 'plan']", "effects.user_groups", "twice"},
      {"standard {} users_max: 20000000", "effects.users_max", "[1, 10000000]"},
      {"standard {} pairs_max: 200000000", "effects.pairs_max", "[1, 100000000]"},
      {"standard {} free_after { seconds: -1 }", "effects.free_after", "[0, 8760h]"},
      {"standard {} free_after { seconds: 31536001 }", "effects.free_after", "8760h"},
      {"standard {} seen { kept { seconds: 59 } }", "effects.seen.kept", "[1m, 8760h]"},
      {"standard {} seen { arms_per_user: 1001 }", "effects.seen.arms_per_user", "[1, 1000]"},
      {"standard {} seen { users_max: 10000001 }", "effects.seen.users_max", "[1, 10000000]"},
      {"standard {} cold_arms { share: 0.1 }", "effects.cold_arms.events", "[1, 65535]"},
      {"standard {} cold_arms { events: 65536 share: 0.1 }", "effects.cold_arms.events", "65536"},
      {"standard {} cold_arms { events: 9 }", "effects.cold_arms.share", "(0, 1]"},
      {"standard {} cold_arms { events: 9 share: nan }", "effects.cold_arms.share", "(0, 1]"},
      {"standard {} users_file: 'users.tsv'", "effects.users_file", "PutUsers"},
      {"effects { name: 'a' half_life: 1000001 }", "effects.effects[0].half_life", "[1, 1000000]"},
      {"standard {} weights {} learn_scales: true", "effects.weights", "exclude each other"},
      {"weights {} effects { name: 'a' } effects { name: 'b' }", "effects.effects[1].keys",
       "are those of effect a"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto errors = ErrorsOf(std::string(kOpen) + "effects { " + mistake.effects + " }");
    EXPECT_THAT(errors, Contains(::testing::AllOf(
                            ::testing::Field(&ConfigError::field, mistake.field),
                            ::testing::Field(&ConfigError::message, HasSubstr(mistake.message)))))
        << mistake.effects;
  }
}

TEST(EffectsConfig, FreesAfterThirtyDaysUnlessToldOtherwise) {
  const auto after = [](const std::string& text) {
    return SpecOf(std::string(kOpen) + "effects { standard {} " + text + "}").effects->free_after;
  };
  EXPECT_EQ(after(""), absl::Hours(720));
  EXPECT_EQ(after("free_after {} "), absl::ZeroDuration());
  EXPECT_EQ(after("free_after { seconds: 60 } "), absl::Minutes(1));
}

TEST(EffectsConfig, KeepsWhatUsersWereShownWhereToldTo) {
  const auto seen = [](const std::string& text) {
    return SpecOf(std::string(kOpen) + "effects { standard {} " + text + "}").effects->seen;
  };
  EXPECT_EQ(seen(""), std::nullopt);
  EXPECT_EQ(seen("seen {} "),
            (SeenBounds{.arms_per_user = 100, .users = 100'000, .kept = absl::Hours(720)}));
  EXPECT_EQ(seen("seen { kept { seconds: 60 } arms_per_user: 2 users_max: 3 } "),
            (SeenBounds{.arms_per_user = 2, .users = 3, .kept = absl::Minutes(1)}));
}

TEST(EffectsConfig, ColdArmsAreAPartOfThePolicy) {
  const std::string cold = "effects { standard {} cold_arms { events: 50 share: 0.1 } } ";
  const ModelSpec spec = SpecOf(kOpen + cold);
  EXPECT_EQ(spec.effects->cold_events, 50);
  EXPECT_EQ(spec.policy->words(), "a cold arm with probability 0.1, else the best by UCB");
  EXPECT_EQ(SpecOf(kOpen + cold + "policy { softmax { temperature: 2 } } ").policy->words(),
            "a cold arm with probability 0.1, else softmax of the UCB scores at temperature 2");
  const auto errors = ErrorsOf(std::string("mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: "
                                           "REWARD_RANDOMIZER } ") +
                               kOnce + cold);
  ASSERT_EQ(errors.size(), 1);
  EXPECT_EQ(errors[0].field, "effects.cold_arms");
  EXPECT_THAT(errors[0].message, StartsWith("is for modes NON_PRIVATE and LOCAL_REWARD"));
}

TEST(EffectsConfig, TellsWhatItIsNotFor) {
  const std::string standard = "effects { standard {} } ";
  EXPECT_THAT(ErrorsOf(kOpen + standard + "prior_stddev: 2"), SizeIs(1));
  EXPECT_THAT(ErrorsOf(kOpen + standard + "exploration { confidence {} }"), SizeIs(1));
  const std::string counter =
      standard + kOnce + "privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER } ";
  EXPECT_THAT(ErrorsOf("mode: LOCAL_REWARD " + counter), Not(IsEmpty()));
  EXPECT_THAT(ErrorsOf("mode: CENTRAL_REWARD " + counter), Not(IsEmpty()));
  EXPECT_THAT(ErrorsOf("mode: JOINT " + counter), Not(IsEmpty()));
  EXPECT_THAT(
      ErrorsOf(std::string("mode: LOCAL_REWARD effects { standard {} learn_scales: true } ") +
               kOnce + "privacy { epsilon: 1 mechanism: CENTRED_RANDOMIZER }"),
      SizeIs(1));
  EXPECT_THAT(ErrorsOf("mode: LOCAL_CONTEXT " + standard + kOnce + "privacy { epsilon: 1 }"),
              Not(IsEmpty()));
}

TEST(EffectsConfig, PrivateModelsReleaseOneValuePerEvent) {
  for (const char* const mode : {"LOCAL_REWARD", "CENTRAL_REWARD"}) {
    const ModelSpec spec = SpecOf(std::string("mode: ") + mode + " " + kOnce +
                                  "effects { standard {} } privacy { epsilon: 2 }");
    EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kRewardRandomizer) << mode;
  }
  const ModelSpec centred =
      SpecOf(std::string("mode: LOCAL_REWARD ") + kOnce +
             "effects { standard {} } privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER }");
  EXPECT_EQ(centred.public_spec.mechanism, MechanismId::kCentredRandomizer);
}

TEST(EffectsConfig, StandardModelsHaveWeightsUnlessSomethingForbidsThem) {
  const auto weights = [](const std::string& effects, const std::string& more = kOpen) {
    const ModelSpec spec = SpecOf(more + " effects { " + effects + " }");
    // The configuration then says so.
    EXPECT_EQ(spec.config.effects().has_weights() && !spec.config.effects().weights().none(),
              spec.effects->weights);
    return spec.effects->weights;
  };
  const std::string local = std::string("mode: LOCAL_REWARD ") + kOnce;
  const std::string centred = local + "privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER }";
  EXPECT_TRUE(weights("standard {}"));
  EXPECT_TRUE(weights("standard {}", local + "privacy { epsilon: 2 }"));
  EXPECT_TRUE(weights("weights {} effects { name: 'a' }"));
  EXPECT_FALSE(weights("standard {} weights { none: true }"));
  EXPECT_FALSE(weights("standard {} learn_scales: true"));
  EXPECT_FALSE(weights("standard {}", centred));
  EXPECT_FALSE(weights("effects { name: 'a' }"));
  EXPECT_THAT(ErrorsOf(centred + " effects { standard {} weights {} }"),
              ElementsAre(::testing::AllOf(
                  ::testing::Field(&ConfigError::field, "effects.weights"),
                  ::testing::Field(&ConfigError::message, HasSubstr("not for CENTRED")))));
}

TEST(EffectsConfig, PairsOfTheStandardListAreBounded) {
  const ModelSpec spec =
      SpecOf(std::string(kOpen) + "reward_max: 2 effects { standard { pairs: true } }");
  EXPECT_THAT(NamesOf(spec), ElementsAre("shared", "constant", "user", "arm", "pair"));
  const EffectTerm& pair = spec.effects->terms.back();
  EXPECT_EQ(pair.scope, (EffectScope{.user = 0, .arm = 0}));
  EXPECT_FALSE(pair.effect.vector);
  EXPECT_TRUE(pair.effect.bounded);
  EXPECT_THAT(pair.effect.prior_variance, DoubleNear(0.4, 1e-12));
}

TEST(EffectsConfig, AnotherHalfLifeOrWeightsAreAnotherModel) {
  const auto identity = [](const std::string& effects) {
    return IdentityOf(SpecOf(std::string(kOpen) + "effects { " + effects + " }"), InstanceId{});
  };
  const Identity none = identity("effects { name: 'a' }");
  const Identity slow = identity("effects { name: 'a' half_life: 100 }");
  const Identity fast = identity("effects { name: 'a' half_life: 10 }");
  const Identity weighted = identity("weights {} effects { name: 'a' }");
  EXPECT_TRUE(CheckSameModel(slow, slow).ok());
  for (const Identity* one : {&none, &slow, &fast, &weighted}) {
    for (const Identity* other : {&none, &slow, &fast, &weighted}) {
      EXPECT_EQ(CheckSameModel(*one, *other).ok(), one == other);
    }
  }
}

TEST(EffectsConfig, AnotherListOfEffectsIsAnotherModel) {
  const ModelSpec one = SpecOf(std::string(kOpen) + "effects { standard {} }");
  const ModelSpec grouped =
      SpecOf(std::string(kOpen) + "effects { standard {} user_groups: 'plan' }");
  const ModelSpec scaled =
      SpecOf(std::string(kOpen) + "effects { effects { name: 'shared' prior_variance: 0.2 } }");
  const InstanceId instance{};
  EXPECT_TRUE(CheckSameModel(IdentityOf(one, instance), IdentityOf(one, instance)).ok());
  EXPECT_FALSE(CheckSameModel(IdentityOf(one, instance), IdentityOf(grouped, instance)).ok());
  EXPECT_FALSE(CheckSameModel(IdentityOf(one, instance), IdentityOf(scaled, instance)).ok());
  EXPECT_FALSE(CheckSameModel(IdentityOf(grouped, instance), IdentityOf(one, instance)).ok());
}

}  // namespace
}  // namespace bandana::testing
