// The calls of selection as the device codes them by hand against protobuf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "client/core/selection/posterior_message.h"
#include "client/core/selection/select_message.h"
#include "tests/support/read_by_reflection.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using ::bandana::testing::IsOk;
using ::testing::ElementsAreArray;

constexpr int kRuns = 5000;

class SelectionMessagesTest : public ::testing::Test {
 protected:
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  double Real() {
    const std::uint64_t bits = Below(4) == 0 ? 0 : random_();
    double real = 0;
    std::memcpy(&real, &bits, sizeof real);
    return real;
  }
  std::string Name() { return std::string(Below(140), static_cast<char>('a' + Below(26))); }
  std::vector<std::string> Names() {
    std::vector<std::string> names(Below(4));
    for (std::string& name : names) name = Name();
    return names;
  }
  std::vector<std::uint32_t> Ids() {
    std::vector<std::uint32_t> ids(Below(4));
    for (std::uint32_t& id : ids) id = static_cast<std::uint32_t>(random_());
    return ids;
  }

  // Rules, and the same of protobuf.
  SelectionRules Rules(v1::SelectionRules& message) {
    SelectionRules rules;
    for (std::uint64_t i = Below(3); i > 0; --i) {
      v1::FieldRange& sent = *message.add_where();
      FieldRange& range = rules.where.emplace_back();
      sent.set_field(range.field = Name());
      const auto bound = [&](std::optional<double>& own, auto set) {
        if (Below(2) == 0) return;
        own = Real();
        (sent.*set)(*own);
      };
      bound(range.min, &v1::FieldRange::set_min);
      bound(range.max, &v1::FieldRange::set_max);
      bound(range.above, &v1::FieldRange::set_above);
      bound(range.below, &v1::FieldRange::set_below);
    }
    for (std::uint64_t i = Below(3); i > 0; --i) {
      v1::Boost& sent = *message.add_boosts();
      Boost& boost = rules.boosts.emplace_back();
      const std::string text = "x" + Name();
      switch (Below(4)) {
        case 0:
          sent.set_tag(boost.tag = text);
          break;
        case 1:
          boost.id = static_cast<std::uint32_t>(random_());
          sent.set_id(*boost.id);
          break;
        case 2:
          sent.set_name(boost.name = text);
          break;
        default:
          sent.mutable_group()->set_name(boost.group = text);
          sent.mutable_group()->set_value(boost.value = Name());
      }
      sent.set_add(boost.add = static_cast<double>(Below(100)) / 7 - 5);
    }
    for (std::uint64_t i = Below(3); i > 0; --i) {
      v1::Pin& sent = *message.add_pins();
      Pin& pin = rules.pins.emplace_back();
      if (Below(2) == 0) {
        pin.id = static_cast<std::uint32_t>(Below(2));
        sent.set_id(*pin.id);
      } else {
        sent.set_name(pin.name = "x" + Name());
      }
      pin.rank = static_cast<int>(Below(100));
      sent.set_rank(static_cast<std::uint32_t>(pin.rank));
    }
    for (std::uint64_t i = Below(3); i > 0; --i) {
      v1::GroupLimit& sent = *message.add_at_most();
      GroupLimit& limit = rules.at_most.emplace_back();
      if (Below(2) == 0) {
        sent.set_group(limit.group = "x" + Name());
      } else {
        sent.set_tag(limit.tag = "x" + Name());
      }
      limit.count = 1 + static_cast<int>(Below(100));
      sent.set_count(static_cast<std::uint32_t>(limit.count));
    }
    if (Below(3) > 0) return rules;
    v1::SeenRule& seen = *message.mutable_exclude_seen();
    rules.exclude_seen.emplace();
    seen.set_seen(Below(2) == 0 ? v1::SeenRule::SHOWN : v1::SeenRule::REWARDED);
    if (seen.seen() == v1::SeenRule::REWARDED) {
      rules.exclude_seen->seen = SeenRule::Seen::kRewarded;
    }
    if (Below(2) == 0) {
      seen.mutable_within()->set_seconds(static_cast<std::int64_t>(Below(100000)));
      seen.mutable_within()->set_nanos(static_cast<std::int32_t>(Below(2) * 500'000'000));
      rules.exclude_seen->within =
          absl::Seconds(seen.within().seconds()) + absl::Nanoseconds(seen.within().nanos());
    }
    return rules;
  }

  // Values, and the same of protobuf.
  Features Values(google::protobuf::Struct& message) {
    Features features;
    for (std::uint64_t i = Below(4); i > 0; --i) {
      const std::string name = "field" + std::to_string(i);
      google::protobuf::Value& value = (*message.mutable_fields())[name];
      switch (Below(5)) {
        case 0: {
          const double number = Real();
          value.set_number_value(number);
          features.Number(name, number);
          break;
        }
        case 1:
          value.set_string_value(Name());
          features.Text(name, value.string_value());
          break;
        case 2:
          value.set_bool_value(Below(2) == 0);
          features.Flag(name, value.bool_value());
          break;
        case 3: {
          std::vector<std::string> texts = Names();
          auto& list = *value.mutable_list_value();
          for (const std::string& text : texts) list.add_values()->set_string_value(text);
          features.Texts(name, std::move(texts));
          break;
        }
        default: {
          std::vector<double> numbers = {Real(), Real()};
          auto& list = *value.mutable_list_value();
          for (const double number : numbers) list.add_values()->set_number_value(number);
          features.Numbers(name, std::move(numbers));
        }
      }
    }
    return features;
  }

  void Damage(std::string& bytes) {
    for (std::uint64_t i = Below(3); i > 0 && !bytes.empty(); --i) {
      const std::size_t at = Below(bytes.size());
      if (Below(3) == 0) {
        bytes.resize(at);
      } else {
        bytes[at] = static_cast<char>(random_());
      }
    }
  }

  std::mt19937_64 random_{17};
};

TEST_F(SelectionMessagesTest, RequestsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) {
    const std::string model = Name(), user = "u" + std::to_string(random_()), hash = Name();
    std::vector<std::uint32_t> ids = Ids();
    const std::vector<std::string> names = Names(), tags = Names();
    std::vector<double> features(3 * (1 + Below(4)));
    for (double& feature : features) feature = static_cast<double>(Below(1000)) / 7;
    v1::SelectRequest message;
    message.set_model(model);
    message.set_user(user);
    message.set_policy_hash(hash);
    ArmQuery query;
    std::vector<NamedArm> named;
    Features context;
    Arms arms;
    switch (Below(4)) {
      case 0: {
        ids.assign(Below(2) == 0 ? 0 : features.size() / 3, 7);
        arms = Arms::Inline(features, ids);
        v1::InlineArms& sent = *message.mutable_arms()->mutable_inline_arms();
        sent.mutable_features()->Add(features.begin(), features.end());
        sent.mutable_ids()->Add(ids.begin(), ids.end());
        break;
      }
      case 1: {
        ids.push_back(3);
        arms = Arms::Catalogue(ids);
        arms.names = names;
        v1::CatalogueArms& sent = *message.mutable_arms()->mutable_catalogue_arms();
        sent.mutable_ids()->Add(ids.begin(), ids.end());
        sent.mutable_names()->Add(names.begin(), names.end());
        break;
      }
      case 2: {
        query = {.tags_any = names,
                 .tags_all = tags,
                 .tags_none = names,
                 .excluded_ids = ids,
                 .excluded_names = tags};
        arms = Arms::Matching(query);
        v1::CatalogueQuery& sent = *message.mutable_arms()->mutable_catalogue_query();
        sent.mutable_tags_any()->Add(names.begin(), names.end());
        sent.mutable_tags_all()->Add(tags.begin(), tags.end());
        sent.mutable_tags_none()->Add(names.begin(), names.end());
        sent.mutable_excluded_ids()->Add(ids.begin(), ids.end());
        sent.mutable_excluded_names()->Add(tags.begin(), tags.end());
        break;
      }
      default: {
        auto& sent = *message.mutable_arms()->mutable_named_arms();
        for (std::uint64_t i = 1 + Below(4); i > 0; --i) {
          v1::NamedArm& arm = *sent.add_arms();
          arm.set_id("arm" + std::to_string(i));
          named.push_back({.id = arm.id(), .features = Values(*arm.mutable_features())});
        }
        arms = Arms::Named(named);
        context = Values(*message.mutable_context());
        arms.context = &context;
      }
    }
    SelectionRules rules;
    if (message.arms().has_catalogue_query() || message.arms().has_catalogue_arms()) {
      v1::SelectionRules sent;
      rules = Rules(sent);
      arms.rules = &rules;
      if (sent.ByteSizeLong() > 0) *message.mutable_rules() = sent;
    }
    absl::StatusOr<SelectRequest> request;
    if (Below(2) == 0) {
      const int top_k = 1 + static_cast<int>(Below(100));
      const int shown = static_cast<int>(Below(static_cast<std::uint64_t>(top_k)));
      message.set_top_k(static_cast<std::uint32_t>(top_k));
      message.set_shown(static_cast<std::uint32_t>(shown));
      message.set_deferred(Below(3) == 0);
      request = MakeSelectRequest(model, 3, user, arms, Ranks(top_k, shown), message.deferred());
    } else {
      message.set_slots(static_cast<std::uint32_t>(1 + Below(16)));
      request = MakeSlotsRequest(model, 3, user, arms, static_cast<int>(message.slots()));
    }
    ASSERT_THAT(request, IsOk());
    const std::string bytes = request->Under(hash);
    v1::SelectRequest read;
    ASSERT_TRUE(read.ParseFromString(bytes));
    // Texts, because NaN is not NaN.
    ASSERT_EQ(read.ShortDebugString(), message.ShortDebugString());
    // Values have no order there.
    if (named.empty()) {
      ASSERT_EQ(bytes, message.SerializeAsString());
    }
  }
}

TEST_F(SelectionMessagesTest, RulesThatNameTwoThingsOrNoneAreRefused) {
  const std::vector<std::uint32_t> ids = {1};
  const auto refused = [&](const SelectionRules& rules, const std::string& message) {
    EXPECT_THAT(MakeSelectRequest("m", 1, "u", Arms::Catalogue(ids).By(rules), 1),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  refused({.boosts = {{.tag = "a", .id = 3}}}, "rules.boosts[0]: must name exactly one of");
  refused({.boosts = {{.add = 1}}}, "rules.boosts[0]: must name exactly one of");
  refused({.pins = {{.id = 3, .name = "x"}}}, "rules.pins[0]: must name exactly one of");
  refused({.pins = {{.id = 3, .rank = -1}}}, "rules.pins[0].rank: must be at least 0, got -1");
  refused({.at_most = {{}}}, "rules.at_most[0]: must name exactly one of group and tag, got 0");
  refused({.at_most = {{.tag = "a", .count = 0}}}, "rules.at_most[0].count: must be at least 1");
  const SelectionRules rules = {.where = {{.field = "price", .max = 1}}};
  const std::vector<double> features = {1};
  EXPECT_THAT(MakeSelectRequest("m", 1, "u", Arms::Inline(features).By(rules), 1),
              testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                "arms.rules are for arms of the catalogue"));
}

TEST_F(SelectionMessagesTest, RequestsOfPointsAreThoseOfProtobuf) {
  v1::SelectRequest message;
  message.set_model("m");
  message.set_user("u");
  message.set_policy_hash("h");
  const auto request = MakePointRequest("m", "u");
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->Under("h"), message.SerializeAsString());
}

TEST_F(SelectionMessagesTest, RequestsOfPosteriorsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) {
    const std::string model = Name(), user = Name();
    const std::uint64_t version = random_() >> Below(64), arm = random_() >> Below(64);
    v1::GetPosteriorRequest posterior;
    posterior.set_model(model);
    posterior.set_user(user);
    posterior.set_if_newer_than(version);
    ASSERT_EQ(PosteriorRequestBytes(model, user, version), posterior.SerializeAsString());
    v1::GetArmEffectsRequest effects;
    effects.set_model(model);
    effects.set_tag(user);
    effects.set_if_newer_than(version);
    effects.set_first_arm(arm);
    ASSERT_EQ(ArmEffectsRequestBytes(model, user, version, arm), effects.SerializeAsString());
  }
}

// Bits, because NaN is not NaN.
template <typename Real>
std::string Bits(const std::vector<Real>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Real)};
}
template <typename Values>
auto ListOf(const Values& values) {
  return std::vector<typename Values::value_type>(values.begin(), values.end());
}

TEST_F(SelectionMessagesTest, SelectionsAreReadAsProtobufReadsThem) {
  int read_well = 0;
  for (int run = 0; run < kRuns; ++run) {
    v1::SelectResponse message;
    for (std::uint64_t i = Below(4); i > 0; --i) {
      message.add_positions(static_cast<std::uint32_t>(random_() >> Below(64)));
      message.add_arm_ids(static_cast<std::uint32_t>(random_()));
      message.add_scores(Real());
      message.add_means(Real());
      message.add_widths(Real());
      message.add_propensities(Real());
      message.add_reward_windows(Real());
      message.add_arm_names(Name());
      message.add_slot_tokens(std::string("\xff\0", 2));
      message.add_notes(Name());
    }
    if (Below(3) == 0) message.add_point(Real());
    message.set_token(Name());
    message.set_decision_id(Name());
    message.set_posterior_version(random_() >> Below(64));
    std::string bytes = message.SerializeAsString();
    Damage(bytes);
    ASSERT_TRUE(bandana::testing::AgreesWithProtobuf(bytes, message));
    const auto answer = ReadSelectResponse(bytes);
    const bool by_hand = answer.ok();
    const bool by_protobuf = message.ParseFromString(bytes);
    if (!by_hand || !by_protobuf) continue;
    ++read_well;
    const SelectResponse& response = *answer;
    ASSERT_THAT(response.positions, ElementsAreArray(message.positions()));
    ASSERT_THAT(response.arm_ids, ElementsAreArray(message.arm_ids()));
    ASSERT_EQ(Bits(response.scores), Bits(ListOf(message.scores())));
    ASSERT_EQ(Bits(response.means), Bits(ListOf(message.means())));
    ASSERT_EQ(Bits(response.widths), Bits(ListOf(message.widths())));
    ASSERT_EQ(Bits(response.propensities), Bits(ListOf(message.propensities())));
    ASSERT_EQ(Bits(response.reward_windows), Bits(ListOf(message.reward_windows())));
    ASSERT_EQ(Bits(response.point), Bits(ListOf(message.point())));
    ASSERT_EQ(response.token, message.token());
    ASSERT_EQ(response.posterior_version, message.posterior_version());
    ASSERT_THAT(response.arm_names, ElementsAreArray(message.arm_names()));
    ASSERT_THAT(response.slot_tokens, ElementsAreArray(message.slot_tokens()));
    ASSERT_THAT(response.notes, ElementsAreArray(message.notes()));
  }
  EXPECT_GT(read_well, kRuns / 4);
}

TEST_F(SelectionMessagesTest, PosteriorsAreReadAsProtobufReadsThem) {
  int read_well = 0;
  for (int run = 0; run < kRuns; ++run) {
    v1::GetPosteriorResponse message;
    message.set_not_modified(Below(2) == 0);
    message.set_version(random_() >> Below(64));
    for (std::uint64_t i = Below(5); i > 0; --i) message.add_means(Real());
    for (std::uint64_t i = Below(5); i > 0; --i) message.add_covariances(Real());
    message.add_alphas(Real());
    message.set_constant_mean(Real());
    message.set_constant_variance(Real());
    std::string bytes = message.SerializeAsString();
    Damage(bytes);
    const auto answer = ReadPosteriorResponse(bytes);
    const bool by_hand = answer.ok();
    const bool by_protobuf = message.ParseFromString(bytes);
    ASSERT_TRUE(by_hand || !by_protobuf || !bandana::testing::ReadByReflection(bytes, message));
    if (!by_hand || !by_protobuf) continue;
    ++read_well;
    const PosteriorResponse& response = *answer;
    ASSERT_EQ(response.not_modified, message.not_modified());
    ASSERT_EQ(response.version, message.version());
    ASSERT_EQ(Bits(response.means), Bits(ListOf(message.means())));
    ASSERT_EQ(Bits(response.covariances), Bits(ListOf(message.covariances())));
    ASSERT_EQ(Bits(response.alphas), Bits(ListOf(message.alphas())));
    ASSERT_EQ(Bits(std::vector{response.constant_mean, response.constant_variance}),
              Bits(std::vector{message.constant_mean(), message.constant_variance()}));
  }
  EXPECT_GT(read_well, kRuns / 4);
}

TEST_F(SelectionMessagesTest, EffectsAreReadAsProtobufReadsThemAndJoined) {
  int read_well = 0;
  for (int run = 0; run < kRuns; ++run) {
    v1::GetArmEffectsResponse message;
    for (std::uint64_t i = Below(5); i > 0; --i) {
      message.add_ids(static_cast<std::uint32_t>(random_()));
      message.add_means(static_cast<float>(Below(1000)));
      message.add_variances(static_cast<float>(Below(1000)));
    }
    message.set_version(random_() >> Below(64));
    message.set_next_arm(random_() >> Below(64));
    message.set_unknown_mean(static_cast<double>(Below(3)));
    message.set_unknown_variance(static_cast<double>(Below(3)));
    std::string bytes = message.SerializeAsString();
    const std::uint64_t version = message.version();
    message.clear_next_arm();
    v1::GetArmEffectsResponse joined;
    ASSERT_TRUE(joined.ParseFromString(JoinArmEffectsPages(bytes, version)));
    ASSERT_EQ(joined.SerializeAsString(), message.SerializeAsString());
    Damage(bytes);
    const auto answer = ReadArmEffectsPage(bytes);
    if (!answer.ok() || !message.ParseFromString(bytes)) continue;
    const ArmEffectsPage& response = *answer;
    ++read_well;
    ASSERT_EQ(response.not_modified, message.not_modified());
    ASSERT_EQ(response.version, message.version());
    ASSERT_THAT(response.ids, ElementsAreArray(message.ids()));
    ASSERT_EQ(Bits(response.means), Bits(ListOf(message.means())));
    ASSERT_EQ(Bits(response.variances), Bits(ListOf(message.variances())));
    ASSERT_EQ(response.next_arm, message.next_arm());
  }
  EXPECT_GT(read_well, kRuns / 4);
}

}  // namespace
}  // namespace bandana::device
