// A policy's text as a device reads it, from servers of good and bad will.
#include "common/promise/policy_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "common/base/sha256.h"
#include "common/design/wire_messages.h"
#include "common/features/schema.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/mechanisms.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kSchema[] = R"(
  bias: true
  context { name: "device" categorical { values: "ios" values: "say \"hi\" \\ é" } }
  context { name: "city" categorical { hash_bits: 3 } }
  context { name: "hour" cyclic { period: 0.1 } }
  context { name: "weekend" boolean {} }
  arm { name: "price" numeric { low: 1 high: 1.00000762939453125 log: true } }
  arm { name: "age" numeric { low: -0.0 high: 100 } }
  arm { name: "tags" set { values: "a b" values: "c" } }
  arm { name: "title" text { hash_bits: 2 } }
  arm { name: "picture" vector { dimension: 3 } }
  crosses { a: "device" b: "tags" })";

PublicSpec Named() {
  PublicSpec spec = WindowSpec(absl::Nanoseconds(1'500'000'001), 0.1);
  spec.features = MakeSchema(kSchema);
  spec.dimension = spec.features->dimension();
  return spec;
}
PublicSpec Logistic() {
  PublicSpec spec = ContextModelSpec();
  spec.link = Link::kLogistic;
  return spec;
}
PublicSpec Central() {
  PublicSpec spec = CounterModelSpec();
  spec.mode = Mode::kCentralReward;
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{absl::Minutes(1), 0, absl::Seconds(2)};
  return spec;
}
PublicSpec Open() {
  PublicSpec spec = RawSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{absl::Minutes(1), 0.5};
  return spec;
}
PublicSpec Immediate() {
  PublicSpec spec = RawSpec();
  spec.one_per_decision = false;
  return spec;
}

std::vector<PublicSpec> OfEveryForm() {
  return {LocalSpec(),
          WindowSpec(absl::Hours(1), 1),
          CounterModelSpec(),
          Central(),
          ContextModelSpec(),
          ContextModelSpec(MechanismId::kJointGaussian),
          Logistic(),
          RawSpec(),
          Open(),
          Immediate(),
          Named()};
}

void SetText(v1::GetModelResponse& response, const std::string& text) {
  response.set_policy_text(text);
  const Sha256Digest hash = Sha256Of(text);
  response.set_policy_hash(std::string(AsChars(hash)));
}
// A message of a text alone.
absl::StatusOr<PublicSpec> Read(const std::string& text, const std::string& table = "") {
  v1::GetModelResponse response;
  SetText(response, text);
  response.set_table_digest(table);
  return ParsePublicSpec(response.SerializeAsString());
}
std::string TableOf(const PublicSpec& spec) { return ModelMessage(spec).table_digest(); }
std::string Changed(const std::string& text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST(PolicyTextTest, APolicyIsReadFromItsLinesAlone) {
  for (const PublicSpec& spec : OfEveryForm()) {
    const std::string text = PolicyText(spec);
    const auto read = Read(text, TableOf(spec));
    ASSERT_THAT(read, IsOk()) << text;
    EXPECT_EQ(PolicyText(*read), text);
    EXPECT_EQ(read->PolicyHash(), Sha256Of(text));
    EXPECT_EQ(ToProto(*read).SerializeAsString(), ModelMessage(spec).SerializeAsString());
  }
}

TEST(PolicyTextTest, TheHashIsOfTheTextThatWasSent) {
  // 0.1 has other texts than the one that %.17g prints.
  const std::string text = Changed(PolicyText(WindowSpec(absl::Hours(1), 0.1)),
                                   "default_reward=0.10000000000000001", "default_reward=0.1");
  const auto read = Read(text, TableOf(LocalSpec()));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->reward_window->default_reward, 0.1);
  EXPECT_EQ(read->PolicyHash(), Sha256Of(text));
}

TEST(PolicyTextTest, ATextThatIsNotItsHashIsRefused) {
  v1::GetModelResponse response = ModelMessage(LocalSpec());
  for (const std::string& hash :
       {std::string(), std::string(32, 'x'), response.policy_hash().substr(0, 31)}) {
    v1::GetModelResponse other = response;
    other.set_policy_hash(hash);
    EXPECT_THAT(ParsePublicSpec(other.SerializeAsString()),
                StatusIs(Code::kFailedPrecondition, "policy_hash is not the SHA-256"));
  }
  response.set_policy_text(response.policy_text() + "\n");
  EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
              StatusIs(Code::kFailedPrecondition, "policy_hash is not the SHA-256"));
}

TEST(PolicyTextTest, EachLineIsThereOnceAndInItsPlace) {
  for (const PublicSpec& spec : OfEveryForm()) {
    const std::string text = PolicyText(spec);
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin) + 1;
      lines.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    const auto joined = [](const std::vector<std::string>& parts) {
      std::string whole;
      for (const std::string& part : parts) whole += part;
      return whole;
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      // Blocks of a schema may come and go: the dimension says that one is missing.
      const bool is_block = lines[i].rfind("feature_", 0) == 0 && i > 20;
      // The one line that a policy may be without: another link.
      const bool is_link = lines[i] == "link=LOGISTIC\n";
      auto other = lines;
      other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_THAT(Read(joined(other), TableOf(spec)), Not(IsOk())) << "without " << lines[i];
      other = lines;
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
      EXPECT_THAT(Read(joined(other), TableOf(spec)), StatusIs(Code::kInvalidArgument))
          << "twice " << lines[i];
      other = lines;
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), "colour=blue\n");
      EXPECT_THAT(Read(joined(other), TableOf(spec)), StatusIs(Code::kInvalidArgument))
          << "before " << lines[i];
      if (i + 1 == lines.size() || is_block || is_link) continue;
      other = lines;
      std::swap(other[i], other[i + 1]);
      EXPECT_THAT(Read(joined(other), TableOf(spec)), StatusIs(Code::kInvalidArgument))
          << "swapped " << lines[i];
    }
  }
}

TEST(PolicyTextTest, TheErrorNamesTheLine) {
  const std::string text = PolicyText(WindowSpec(absl::Hours(1), 0.5));
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"hello\n", "policy_text line 1: is not a format that this version knows"},
      {Changed(text, "policy-5", "policy-7"), "line 1: is not a format that this version knows"},
      {Changed(text, "policy-5", "policy-05"), "line 1: is not a format that this version knows"},
      {Changed(text, "policy-5", "policy-4"), "line 1: must name format 5"},
      {Changed(text, "policy-5", "policy-6"), "line 1: must name format 5"},
      {text + "sensors=all\n", "line 22 (sensors): is not one that this version knows"},
      {text + "\n", "line 22: is not one that this version knows"},
      {text + "model=fake\n", "line 22 (model): is there twice"},
      {text + "counter_kind=BLT\n", "line 22 (counter_kind): comes after a line"},
      {text.substr(0, text.size() - 1), "its last line has no end"},
      {text + "x", "line 22 (x): is not one"},
      {Changed(text, "delta=0\n", ""), "the line delta is missing"},
      {Changed(text, "reward_grace_ns=0\n", ""), "must name format 1"},
      {Changed(text, "\n", "\r\n"), "is not a format"},
      {Changed(text, "=", " = "), "line 2 (model): is not one that this version knows"},
      {Changed(text, "model=fake", "model=\xff"), "not a message"},
      {Changed(text, "model=fake", "model=Fake"), "model: must be 1 to 63"},
      {Changed(text, "dimension=2", "dimension=02"), "line 3 (dimension): has no such value"},
      {Changed(text, "dimension=2", "dimension=4294967298"), "(dimension): has no such value"},
      {Changed(text, "dimension=2", "dimension=257"), "dimension: must be in [1, 256]"},
      {Changed(text, "epsilon=1", "epsilon=1e0"), "line 11 (epsilon): has no such value"},
      {Changed(text, "epsilon=1", "epsilon=nan"), "line 11 (epsilon): has no such value"},
      {Changed(text, "epsilon=1", "epsilon=1e+400"), "line 11 (epsilon): has no such value"},
      {Changed(text, "epsilon=1", "epsilon=0"), "epsilon: must be in (0, 20]"},
      {Changed(text, "epsilon=1", "epsilon=21"), "epsilon: must be in (0, 20]"},
      {Changed(text, "reward_binary=0", "reward_binary=2"), "(reward_binary): has no such value"},
      {Changed(text, "CLIP", "clip"), "(feature_out_of_range): has no such value"},
      {Changed(text, "LOCAL_REWARD", "LOCAL"), "(mode): has no such value"},
      {Changed(text, "LOCAL_REWARD", "MODE_UNSPECIFIED"), "reward_grace_ns is for private"},
      {Changed(text, "REWARD_RANDOMIZER", "AUTO"), "mechanism: is not one that this version knows"},
      {Changed(text, "=event", "="), "unit_of_privacy: must be event"},
      {Changed(text, "=proven", "=published"), "guarantee: must be proven"},
      {Changed(text, "=reward_window\n", "=sometimes\n"), "(reporting): has no such value"},
      {Changed(text, "=reward_window\n", "=immediate\n"), "reward_grace_ns is for private"},
      {Changed(text, "window_ns=3600000000000", "window_ns=-1"), "has no such value"},
      {Changed(text, "window_ns=3600000000000", "window_ns=0"), "reward_window.duration: must be"},
      {Changed(text, "window_ns=3600000000000", "window_ns=999999"), "duration: must be in [1ms"},
      {Changed(text, "window_ns=3600000000000", "window_ns=604800000000001"), "168h"},
      {Changed(text, "window_ns=3600000000000", "window_ns=9223372036854775808"),
       "(reward_window_ns): has no such value"},
      {Changed(text, "default_reward=0.5", "default_reward=1.5"), "default_reward: must be in"},
      {Changed(text, "lifetime_ns=86400000000000", "lifetime_ns=3599999999999"),
       "token_lifetime: must be at least the reward window"},
      {Changed(text, "grace_ns=0", "grace_ns=1"), "grace: is for modes CENTRAL_REWARD and JOINT"},
      {Changed(PolicyText(Central()), "grace_ns=2000000000", "grace_ns=3600000000001"),
       "grace: must be in [0, 1h]"},
      {Changed(PolicyText(Central()), "kind=BLT", "kind=FAST"), "(counter_kind): has no such"},
      {Changed(PolicyText(Central()), "counter_horizon=1000\n", ""), "counter_horizon is missing"},
      {Changed(PolicyText(Central()), "counter_kind=BLT\n", ""), "counter_kind is missing"},
      {Changed(PolicyText(Logistic()), "LOGISTIC", "LINEAR"), "(link): has no such value"},
  };
  for (const auto& each : cases) {
    v1::GetModelResponse response;
    SetText(response, each.text);
    // As bytes: protobuf itself writes no string that is not UTF-8.
    const auto read = ParsePublicSpec(response.SerializeAsString());
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(each.message)) << each.text;
  }
}

TEST(PolicyTextTest, FieldsThatAreNotTheTextAreRefused) {
  const std::vector<std::pair<const char*, std::function<void(v1::GetModelResponse&)>>> rows = {
      {"model", [](auto& r) { r.set_model("other"); }},
      {"model", [](auto& r) { r.clear_model(); }},
      {"dimension", [](auto& r) { r.set_dimension(3); }},
      {"feature_l2_max", [](auto& r) { r.set_feature_l2_max(2); }},
      {"feature_out_of_range", [](auto& r) { r.set_feature_out_of_range(v1::REJECT); }},
      {"reward_min", [](auto& r) { r.set_reward_min(-1); }},
      {"reward_max", [](auto& r) { r.set_reward_max(1.0000000000000002); }},
      {"reward_binary", [](auto& r) { r.set_reward_binary(true); }},
      {"mode", [](auto& r) { r.set_mode(v1::NON_PRIVATE); }},
      {"mechanism", [](auto& r) { r.set_mechanism(v1::CENTRED_RANDOMIZER); }},
      {"epsilon", [](auto& r) { r.set_epsilon(0.5); }},
      {"delta", [](auto& r) { r.set_delta(1e-9); }},
      {"unit_of_privacy", [](auto& r) { r.clear_unit_of_privacy(); }},
      {"guarantee", [](auto& r) { r.set_guarantee("published"); }},
      {"events_per_user_max", [](auto& r) { r.set_events_per_user_max(5); }},
      {"reporting", [](auto& r) { r.clear_reporting(); }},
      {"reporting", [](auto& r) { r.mutable_reporting()->set_one_per_decision(true); }},
      {"reporting",
       [](auto& r) { r.mutable_reporting()->mutable_reward_window()->set_default_reward(0); }},
      {"reporting",
       [](auto& r) {
         r.mutable_reporting()->mutable_reward_window()->mutable_duration()->set_nanos(1);
       }},
      {"token_lifetime", [](auto& r) { r.mutable_token_lifetime()->set_seconds(86401); }},
      {"research", [](auto& r) { r.set_research(true); }},
      {"counter", [](auto& r) { r.mutable_counter(); }},
      {"link", [](auto& r) { r.set_link(v1::LOGISTIC); }},
      {"features", [](auto& r) { r.mutable_features(); }},
  };
  const v1::GetModelResponse good = ModelMessage(WindowSpec(absl::Hours(1), 0.5));
  for (const auto& [field, change] : rows) {
    v1::GetModelResponse response = good;
    change(response);
    EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
                StatusIs(Code::kFailedPrecondition,
                         std::string(field) + " of model fake is not what policy_text says"));
  }
  v1::GetModelResponse response = ModelMessage(Named());
  response.mutable_features()->mutable_context(0)->set_name("phone");
  EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
              StatusIs(Code::kFailedPrecondition, "features of model fake"));
}

TEST(PolicyTextTest, BlocksOfASchemaAreReadAsTheyAreWritten) {
  const PublicSpec spec = Named();
  const std::string text = PolicyText(spec);
  const std::string table = TableOf(spec);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"features=1", "features=2"},
           {"feature_bias", "feature_bias=1"},
           {"feature_bias", "feature_colour=1"},
           {"categorical hash_bits 3", "categorical hash_bits 0"},
           {"categorical hash_bits 3", "categorical hash_bits 13"},
           {"categorical hash_bits 3", "categorical values"},
           {"categorical hash_bits 3", "categorical"},
           {"categorical hash_bits 3", "ordinal 3"},
           {"\"ios\" ", "ios "},
           {"\"ios\" ", "\"ios\""},
           {"\"ios\" ", "\"ios "},
           {"\"ios\" ", "\"io\\s\" "},
           {"\"ios\" ", "\"\" "},
           {"\\\\", "\\"},
           {"cyclic 0.10000000000000001", "cyclic -1"},
           {"cyclic 0.10000000000000001", "cyclic x"},
           {"boolean", "boolean 1"},
           {" log", " cubic"},
           {" linear", ""},
           {"ngrams 1", "ngrams 0"},
           {"ngrams 1", "ngrams 4"},
           {"ngrams 1", ""},
           {"vector 3 1", "vector 3 0"},
           {"vector 3 1", "vector 3"},
           {"cross=device tags", "cross=device"},
           {"cross=device tags", "cross=device hour x"},
           {"cross=device tags", "cross=device nothing"},
           {"feature_arm=age", "feature_context=age"},
           {"feature_arm=age", "feature_arm=price"},
           {"feature_arm=age", "feature_arm="},
       }) {
    EXPECT_THAT(Read(Changed(text, from, to), table), StatusIs(Code::kInvalidArgument))
        << from << " -> " << to;
  }
  const auto read = Read(text, table);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->features->EntryName(2), "device=say \"hi\" \\ é");
}

TEST(PolicyTextTest, AnotherTableIsRefused) {
  for (const MechanismId mechanism :
       {MechanismId::kRewardRandomizer, MechanismId::kCentredRandomizer}) {
    PublicSpec spec = LocalSpec();
    spec.mechanism = mechanism;
    v1::GetModelResponse response = ModelMessage(spec);
    EXPECT_EQ(response.table_digest().size(), 32);
    EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()), IsOk());
    PublicSpec other = spec;
    other.epsilon = {1.0000001};
    const std::string others = ModelMessage(other).table_digest();
    EXPECT_NE(others, response.table_digest());
    for (const std::string& table : {others, std::string(), response.table_digest() + "x"}) {
      response.set_table_digest(table);
      EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
                  StatusIs(Code::kFailedPrecondition, "table_digest of model fake"));
    }
  }
}

TEST(PolicyTextTest, WhereTheDeviceDrawsByNoTableThereIsNone) {
  for (const PublicSpec& spec : {RawSpec(), CounterModelSpec(), ContextModelSpec(), Central()}) {
    v1::GetModelResponse response = ModelMessage(spec);
    EXPECT_EQ(response.table_digest(), "");
    response.set_table_digest(std::string(32, 'x'));
    EXPECT_THAT(ParsePublicSpec(response.SerializeAsString()),
                StatusIs(Code::kFailedPrecondition, "table_digest of model fake"));
  }
  PublicSpec central = LocalSpec();
  central.mode = Mode::kCentralReward;
  EXPECT_EQ(ToProto(Made(central).public_spec).table_digest(), "");
}

// The integers are a function of epsilon, and of whether rewards are binary.
TEST(PolicyTextTest, TheTableIsNotOfTheRange) {
  PublicSpec spec = LocalSpec();
  spec.epsilon = {0.5};
  const std::string table = TableOf(spec);
  spec.reward_range = {-3, 10};
  spec.reward_binary = true;
  EXPECT_EQ(TableOf(spec), table);  // at this epsilon real rewards have one bit as well...
  spec.epsilon = {2};
  const std::string binary = TableOf(spec);
  spec.reward_binary = false;
  EXPECT_NE(TableOf(spec), binary);  // ...and at this one more
}

}  // namespace
}  // namespace bandana::testing
