// PublicSpec on the device: the round trip, the hash, and what a device refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/base/sha256.h"
#include "common/design/server_mechanism_table.h"
#include "common/design/wire_messages.h"
#include "tests/support/mechanisms.h"
#include "tests/support/privacy_curves.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

PublicSpec Local() {
  PublicSpec spec;
  spec.name = "ldp-colin";
  spec.dimension = 25;
  spec.mode = Mode::kLocalReward;
  spec.mechanism = MechanismId::kRewardRandomizer;
  spec.epsilon = Epsilon{2};
  spec.unit_of_privacy = "event";
  spec.guarantee = "proven";
  spec.events_per_user_max = 1000;
  spec.reward_window = RewardWindowSpec{absl::Milliseconds(1500), 0.25};
  spec.token_lifetime = absl::Hours(24);
  return spec;
}

PublicSpec WithCounter() {
  PublicSpec spec = Local();
  spec.mechanism = MechanismId::kCounter;
  spec.delta = Delta{1e-6};
  spec.counter = CounterSpec{CounterKind::kHonaker, 1000, 4000};
  return spec;
}

PublicSpec Central() {
  PublicSpec spec = WithCounter();
  spec.mode = Mode::kCentralReward;
  return spec;
}

PublicSpec OncePerDecision(PublicSpec spec) {
  spec.reward_window.reset();
  spec.one_per_decision = true;
  return spec;
}

PublicSpec NonPrivate() {
  PublicSpec spec;
  spec.name = "plain";
  spec.dimension = 1;
  spec.token_lifetime = absl::Seconds(1);
  return spec;
}

// A server that sends no policy_text: the policy is in the fields.
v1::GetModelResponse FromOlderServer(const PublicSpec& spec) {
  v1::GetModelResponse response = ModelMessage(spec);
  response.clear_policy_text();
  response.clear_table_digest();
  return response;
}

TEST(PublicSpec, SurvivesTheWire) {
  for (const PublicSpec& spec : {Local(), WithCounter(), Central(), NonPrivate()}) {
    const auto parsed = ParsePublicSpec(ModelMessage(spec).SerializeAsString());
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(parsed->PolicyHash(), spec.PolicyHash());
    EXPECT_EQ(ToProto(*parsed).SerializeAsString(), ModelMessage(spec).SerializeAsString());
    const auto older = ParsePublicSpec(FromOlderServer(spec).SerializeAsString());
    ASSERT_THAT(older, IsOk());
    EXPECT_EQ(ToProto(*older).SerializeAsString(), ModelMessage(spec).SerializeAsString());
  }
}

// The text of docs/formats.md, section "policy hash", written out by hand.
TEST(PublicSpec, HashIsTheDocumentedText) {
  const std::string text =
      "bandana-policy-1\nmodel=ldp-colin\ndimension=25\nfeature_l2_max=1\n"
      "feature_out_of_range=CLIP\nreward_min=0\nreward_max=1\nreward_binary=0\n"
      "mode=LOCAL_REWARD\nmechanism=REWARD_RANDOMIZER\nepsilon=2\ndelta=0\n"
      "unit_of_privacy=event\nguarantee=proven\nevents_per_user_max=1000\nresearch=0\n"
      "reporting=one_per_decision\nreward_window_ns=0\ndefault_reward=0\n"
      "token_lifetime_ns=86400000000000\n";
  EXPECT_EQ(ToHex(OncePerDecision(Local()).PolicyHash()), ToHex(Sha256Of(text)));
}

// An earlier SDK, which told of reactions, computes another hash and refuses.
TEST(PublicSpec, HashOfAPrivateRewardWindowIsFormat5) {
  const std::string text =
      "bandana-policy-5\nmodel=ldp-colin\ndimension=25\nfeature_l2_max=1\n"
      "feature_out_of_range=CLIP\nreward_min=0\nreward_max=1\nreward_binary=0\n"
      "mode=CENTRAL_REWARD\nmechanism=COUNTER\nepsilon=2\ndelta=9.9999999999999995e-07\n"
      "unit_of_privacy=event\nguarantee=proven\nevents_per_user_max=1000\nresearch=0\n"
      "reporting=reward_window\nreward_window_ns=1500000000\ndefault_reward=0.25\n"
      "token_lifetime_ns=86400000000000\ncounter_kind=HONAKER\ncounter_horizon=1000\n"
      "counter_steps_max=4000\nreward_grace_ns=2000000000\n";
  PublicSpec central = Central();
  central.reward_window->grace = absl::Seconds(2);
  EXPECT_EQ(ToHex(central.PolicyHash()), ToHex(Sha256Of(text)));
  PublicSpec plain = NonPrivate();
  plain.reward_window = RewardWindowSpec{absl::Seconds(1), 0};
  const auto same = plain.PolicyHash();
  plain.reward_window->grace = absl::Seconds(2);  // no part of a model without privacy
  EXPECT_EQ(plain.PolicyHash(), same);
}

TEST(PublicSpec, HashOfACounterIsFormat2) {
  const std::string text =
      "bandana-policy-2\nmodel=ldp-colin\ndimension=25\nfeature_l2_max=1\n"
      "feature_out_of_range=CLIP\nreward_min=0\nreward_max=1\nreward_binary=0\n"
      "mode=LOCAL_REWARD\nmechanism=COUNTER\nepsilon=2\ndelta=9.9999999999999995e-07\n"
      "unit_of_privacy=event\nguarantee=proven\nevents_per_user_max=1000\nresearch=0\n"
      "reporting=one_per_decision\nreward_window_ns=0\ndefault_reward=0\n"
      "token_lifetime_ns=86400000000000\ncounter_kind=HONAKER\ncounter_horizon=1000\n"
      "counter_steps_max=4000\n";
  EXPECT_EQ(ToHex(OncePerDecision(WithCounter()).PolicyHash()), ToHex(Sha256Of(text)));
}

PublicSpec Logistic() {
  PublicSpec spec = OncePerDecision(Local());
  spec.mode = Mode::kLocalContext;
  spec.mechanism = MechanismId::kPrivUnit;
  spec.context = ContextSpec{.grid_bits = 20, .parameters = Sha256Of("design")};
  spec.link = Link::kLogistic;
  return spec;
}

TEST(PublicSpec, HashOfACurvedLinkIsFormat4) {
  const std::string text =
      "bandana-policy-4\nmodel=ldp-colin\ndimension=25\nfeature_l2_max=1\n"
      "feature_out_of_range=CLIP\nreward_min=0\nreward_max=1\nreward_binary=0\n"
      "mode=LOCAL_CONTEXT\nmechanism=PRIVUNIT\nepsilon=2\ndelta=0\n"
      "unit_of_privacy=event\nguarantee=proven\nevents_per_user_max=1000\nresearch=0\n"
      "reporting=one_per_decision\nreward_window_ns=0\ndefault_reward=0\n"
      "token_lifetime_ns=86400000000000\ncontext_grid_bits=20\ncontext_parameters=" +
      ToHex(Sha256Of("design")) + "\nlink=LOGISTIC\n";
  EXPECT_EQ(ToHex(Logistic().PolicyHash()), ToHex(Sha256Of(text)));
  // Devices' spending under a linear model stays theirs.
  PublicSpec linear = Logistic();
  linear.link = Link::kLinear;
  const std::string before =
      "bandana-policy-3" + text.substr(text.find('\n'), text.find("link=") - text.find('\n'));
  EXPECT_EQ(ToHex(linear.PolicyHash()), ToHex(Sha256Of(before)));
}

TEST(PublicSpec, HashBindsEveryField) {
  const std::vector<std::function<void(PublicSpec&)>> changes = {
      [](PublicSpec& s) { s.name = "other"; },
      [](PublicSpec& s) { s.dimension = 24; },
      [](PublicSpec& s) { s.feature_l2_max = 2; },
      [](PublicSpec& s) { s.reject_features = true; },
      [](PublicSpec& s) { s.reward_range.min = -1; },
      [](PublicSpec& s) { s.reward_range.max = 2; },
      [](PublicSpec& s) { s.reward_binary = true; },
      [](PublicSpec& s) { s.mode = Mode::kNonPrivate; },
      [](PublicSpec& s) { s.mechanism = MechanismId::kAuto; },
      [](PublicSpec& s) { s.epsilon = Epsilon{2.0000000000000004}; },
      [](PublicSpec& s) { s.delta = Delta{1e-9}; },
      [](PublicSpec& s) { s.unit_of_privacy = ""; },
      [](PublicSpec& s) { s.guarantee = "published"; },
      [](PublicSpec& s) { s.events_per_user_max = 0; },
      [](PublicSpec& s) { s.research = true; },
      [](PublicSpec& s) { s.reward_window.reset(); },
      [](PublicSpec& s) { s.reward_window->duration = absl::Milliseconds(1501); },
      [](PublicSpec& s) { s.reward_window->default_reward = 0; },
      [](PublicSpec& s) { s.reward_window->grace = absl::Seconds(1); },
      [](PublicSpec& s) {
        s.reward_window.reset();
        s.one_per_decision = true;
      },
      [](PublicSpec& s) { s.token_lifetime = absl::Hours(23); },
      [](PublicSpec& s) {
        s.counter = CounterSpec{CounterKind::kBlt, 1, 2};
      },
      [](PublicSpec& s) {
        s.counter = CounterSpec{CounterKind::kTree, 1, 2};
      },
      [](PublicSpec& s) {
        s.counter = CounterSpec{CounterKind::kBlt, 2, 2};
      },
      [](PublicSpec& s) {
        s.counter = CounterSpec{CounterKind::kBlt, 1, 3};
      },
  };
  std::vector<Sha256Digest> hashes = {Local().PolicyHash()};
  for (const auto& change : changes) {
    PublicSpec spec = Local();
    change(spec);
    hashes.push_back(spec.PolicyHash());
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST(PublicSpec, NegativeZeroHashesAsZero) {
  PublicSpec spec = Local();
  spec.reward_range.min = -0.0;
  EXPECT_EQ(spec.PolicyHash(), Local().PolicyHash());
}

TEST(Kinds, NamesAreThoseOfTheWire) {
  for (int number = -1; number <= v1::Mode_MAX + 1; ++number) {
    EXPECT_EQ(ModeName(Mode{number}), v1::Mode_Name(static_cast<v1::Mode>(number)));
  }
  for (int number = -1; number <= v1::Mechanism_MAX + 1; ++number) {
    EXPECT_EQ(MechanismName(MechanismId{number}),
              v1::Mechanism_Name(static_cast<v1::Mechanism>(number)));
  }
  for (int number = v1::CounterKind_MIN + 1; number <= v1::CounterKind_MAX; ++number) {
    const auto kind = CounterKindOf(number);
    ASSERT_TRUE(kind.has_value());
    EXPECT_EQ(NumberOf(*kind), number);
    EXPECT_EQ(ServedName(*kind), v1::CounterKind_Name(static_cast<v1::CounterKind>(number)));
  }
  EXPECT_FALSE(CounterKindOf(0).has_value());
  EXPECT_FALSE(CounterKindOf(v1::CounterKind_MAX + 1).has_value());
}

TEST(ParsePublicSpec, RefusesFieldsThatDoNotMatchTheHash) {
  v1::GetModelResponse response = FromOlderServer(Local());
  response.set_epsilon(3);
  EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "policy_hash"));
  response = FromOlderServer(Local());
  response.clear_policy_hash();
  EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(ParsePublicSpec, IgnoresThePosteriorVersion) {
  v1::GetModelResponse response = ModelMessage(Local());
  response.set_posterior_version(17);
  EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()), IsOk());
}

TEST(ParsePublicSpec, ChecksRangesAgain) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(v1::GetModelResponse&)>>> rows = {
      {"model", [](auto& r) { r.set_model(""); }},
      {"dimension", [](auto& r) { r.set_dimension(257); }},
      {"feature_l2_max", [](auto& r) { r.set_feature_l2_max(0); }},
      {"feature_l2_max", [](auto& r) { r.set_feature_l2_max(kNan); }},
      {"feature_out_of_range",
       [](auto& r) { r.set_feature_out_of_range(static_cast<v1::OutOfRange>(9)); }},
      {"reward_max", [](auto& r) { r.set_reward_max(0); }},
      {"reward_min", [](auto& r) { r.set_reward_min(kNan); }},
      {"mode", [](auto& r) { r.set_mode(v1::MODE_UNSPECIFIED); }},
      {"mode", [](auto& r) { r.set_mode(v1::NON_PRIVATE); }},
      {"mechanism", [](auto& r) { r.set_mechanism(v1::AUTO); }},
      {"epsilon", [](auto& r) { r.set_epsilon(0); }},
      {"epsilon", [](auto& r) { r.set_epsilon(kNan); }},
      {"epsilon", [](auto& r) { r.set_epsilon(21); }},
      {"delta", [](auto& r) { r.set_delta(1e-6); }},
      {"unit_of_privacy", [](auto& r) { r.clear_unit_of_privacy(); }},
      {"guarantee", [](auto& r) { r.set_guarantee("published"); }},
      {"reporting", [](auto& r) { r.clear_reporting(); }},
      {"default_reward",
       [](auto& r) { r.mutable_reporting()->mutable_reward_window()->set_default_reward(2); }},
      {"token_lifetime", [](auto& r) { r.clear_token_lifetime(); }},
  };
  for (const auto& [field, change] : rows) {
    v1::GetModelResponse response = FromOlderServer(Local());
    change(response);
    EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
                StatusIs(absl::StatusCode::kInvalidArgument, field))
        << field;
  }
}

TEST(ParsePublicSpec, ChecksTheCounterAgain) {
  const std::vector<std::pair<std::string, std::function<void(v1::GetModelResponse&)>>> rows = {
      {"counter", [](auto& r) { r.clear_counter(); }},
      {"counter", [](auto& r) { r.set_mechanism(v1::REWARD_RANDOMIZER); }},
      {"delta", [](auto& r) { r.set_delta(0); }},
      {"delta", [](auto& r) { r.set_delta(std::numeric_limits<double>::quiet_NaN()); }},
      {"delta", [](auto& r) { r.set_delta(1e-3); }},
      {"counter.kind", [](auto& r) { r.mutable_counter()->clear_kind(); }},
      {"counter.kind",
       [](auto& r) { r.mutable_counter()->set_kind(static_cast<v1::CounterKind>(5)); }},
      {"counter.horizon", [](auto& r) { r.mutable_counter()->set_horizon(0); }},
      {"counter.steps_max", [](auto& r) { r.mutable_counter()->set_steps_max(999); }},
  };
  for (const auto& [field, change] : rows) {
    v1::GetModelResponse response = FromOlderServer(WithCounter());
    change(response);
    EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
                StatusIs(absl::StatusCode::kInvalidArgument, field))
        << field;
  }
}

// As a device makes it.
std::shared_ptr<const Mechanism> Device(const PublicSpec& spec) {
  return MakeMechanism(spec).value();
}

TEST(Mechanism, HasItsPartWhereItDraws) {
  EXPECT_NE(Device(Local())->rewards(), nullptr);
  EXPECT_EQ(Device(Local())->counter(), nullptr);
  EXPECT_NE(Device(WithCounter())->counter(), nullptr);
  EXPECT_EQ(Device(WithCounter())->rewards(), nullptr);
  PublicSpec central = Local();
  central.mode = Mode::kCentralReward;
  EXPECT_EQ(Device(central)->rewards(), nullptr);
  EXPECT_EQ(Device(central)->name(), "REWARD_RANDOMIZER");
  EXPECT_NE(testing::Made(central).public_spec.made->rewards(), nullptr);
}

TEST(Mechanism, OfAModelWithoutPrivacyHasNoName) {
  const auto none = Device(NonPrivate());
  EXPECT_EQ(none->rewards(), nullptr);
  EXPECT_EQ(none->counter(), nullptr);
  EXPECT_EQ(none->name(), "");
  EXPECT_EQ(none->unit(), "");
  EXPECT_EQ(none->guarantee(), "");
  EXPECT_FALSE(none->cost().has_value());
  EXPECT_EQ(PublicSpec{}.made->name(), "");
}

TEST(Mechanism, OfAnotherModeIsRefused) {
  PublicSpec spec = WithCounter();
  spec.mode = Mode::kLocalContext;
  EXPECT_THAT(MakeMechanism(spec), StatusIs(absl::StatusCode::kInvalidArgument, "model"));
}

TEST(MechanismTable, HasARowForEachSide) {
  const auto policies = Mechanisms();
  const auto served = ServerMechanisms();
  ASSERT_EQ(served.size(), policies.size());
  for (std::size_t i = 0; i < policies.size(); ++i) {
    EXPECT_EQ(served[i].policy, &policies[i]) << MechanismName(policies[i].id);
    EXPECT_NE(served[i].make, nullptr) << MechanismName(policies[i].id);
  }
}

TEST(MechanismTable, ADeviceMakesFromThePolicyWhatItDraws) {
  for (const MechanismRow& row : Mechanisms()) {
    for (const Mode mode : row.modes) {
      EXPECT_TRUE(row.make != nullptr || !ModeOf(mode).device_draws)
          << MechanismName(row.id) << " of mode " << ModeName(mode);
    }
  }
}

TEST(RewardCounter, ChargesOneReplacedRewardAndNoMoreThanAsked) {
  PublicSpec spec = WithCounter();
  spec.reward_range = {.min = -1, .max = 3};
  spec.feature_l2_max = 2;
  EXPECT_EQ(spec.reward_range.middle(), 1);
  const CounterDesign design = testing::DesignOf(spec);
  EXPECT_EQ(design.kind(), CounterKind::kHonaker);
  EXPECT_EQ(design.step_cap(), 4000);
  EXPECT_EQ(design.grid().dimension, 25);
  // L B / 2 = 4: |x (r - mid)| of any event; two of them lie at most 8 = L B apart.
  const double bound = std::ldexp(design.grid().norm_bound, design.grid().exponent);
  EXPECT_LE(bound, 4);
  EXPECT_GT(bound, 4 * (1 - 1e-6));
  const double delta = testing::ZcdpDelta(design.cost(), spec.epsilon);
  EXPECT_LE(delta, 1e-6);
  EXPECT_GT(delta, 0.99e-6);
}

TEST(RewardCounter, IsTheSameOnTheDevice) {
  const auto parsed = ParsePublicSpec(ModelMessage(WithCounter()).SerializeAsString());
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(testing::DesignOf(*parsed).digest(), testing::DesignOf(WithCounter()).digest());
}

TEST(RewardCounter, DependsOnEveryParameter) {
  const std::vector<std::function<void(PublicSpec&)>> changes = {
      [](PublicSpec& s) { s.dimension = 24; },
      [](PublicSpec& s) { s.feature_l2_max = 1.5; },
      [](PublicSpec& s) { s.reward_range.max = 1.5; },
      [](PublicSpec& s) { s.epsilon = Epsilon{1.5}; },
      [](PublicSpec& s) { s.delta = Delta{1e-7}; },
      [](PublicSpec& s) { s.counter->kind = CounterKind::kBlt; },
      [](PublicSpec& s) { s.counter->steps_max = 8192; },
  };
  for (const auto& change : changes) {
    PublicSpec spec = WithCounter();
    change(spec);
    EXPECT_NE(testing::DesignOf(spec).digest(), testing::DesignOf(WithCounter()).digest());
  }
}

}  // namespace
}  // namespace bandana::testing
