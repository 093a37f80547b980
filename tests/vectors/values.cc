#include "tests/vectors/values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/core/privatizer.h"
#include "client/core/report_bytes.h"
#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/exact_number.h"
#include "common/design/wire_messages.h"
#include "common/features/schema_text.h"
#include "common/mechanisms/reward_randomizer.h"
#include "common/promise/mechanism.h"
#include "common/promise/policy_text.h"
#include "common/promise/window_schedule.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/mechanisms.h"
#include "tests/vectors/json.h"

namespace bandana::vectors {
namespace {

using testing::ContextModelSpec;
using testing::CounterModelSpec;
using testing::LocalSpec;
using testing::RawSpec;
using testing::WindowSpec;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---------------------------------------------------------------------------------------- numbers

std::string Numbers() {
  std::vector<std::string> read;
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "-1",
                           "0.5",
                           "0.1",
                           "0.10000000000000001",
                           "0.29999999999999999",
                           "1.0000076293945312",
                           "9007199254740993",
                           "9007199254740995",
                           "9007199254740992",
                           "18014398509481986",
                           "36028797018963972",
                           "36028797018963964",
                           "9.9999999999999995e-07",
                           "1e+22",
                           "1e+23",
                           "9.9999999999999992e+22",
                           "8.5000000000000003e-05",
                           "123456789.123",
                           "1.7976931348623157e+308",
                           "-1.7976931348623157e+308",
                           "4.9406564584124654e-324",
                           "2.4703282292062328e-324",
                           "2.4703282292062327e-324",
                           "2.2250738585072014e-308",
                           "2.2250738585072011e-308",
                           "1e-999",
                           "99999999999999999e-342",
                           "0.0000001e+7"}) {
    const auto number = ReadExactNumber(text);
    BANDANA_CHECK(number.has_value());
    read.push_back(Object({{"text", Text(text)}, {"bits", Bits(*number)}}));
  }
  std::mt19937_64 random(1);
  while (read.size() < 200) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    read.push_back(Object({{"text", Text(ExactNumber(value))}, {"bits", Bits(value)}}));
  }
  std::vector<std::string> refused;
  for (const char* text : {"",
                           "-",
                           ".5",
                           "5.",
                           "+1",
                           "1e5",
                           "1e+",
                           "1e+1000",
                           "1E+05",
                           "01",
                           "00",
                           "1,5",
                           " 1",
                           "1 ",
                           "inf",
                           "nan",
                           "0x1p3",
                           "123456789012345678",
                           "1.23456789012345678",
                           "1.7976931348623159e+308",
                           "1e+309"}) {
    BANDANA_CHECK(!ReadExactNumber(text).has_value());
    refused.push_back(Text(text));
  }
  return File("numbers", 1, {{"read", read}, {"refused", refused}});
}

// ----------------------------------------------------------------------------------------- policy

constexpr char kSchema[] = R"(
  bias: true
  context { name: "device" categorical { values: "ios" values: "say \"hi\" \\ é" } }
  context { name: "city" categorical { hash_bits: 3 } }
  context { name: "hour" cyclic { period: 24 } }
  context { name: "weekend" boolean {} }
  arm { name: "price" numeric { low: 1 high: 500 log: true } }
  arm { name: "age" numeric { low: -0.1 high: 100 } }
  arm { name: "tags" set { values: "a b" values: "c" } }
  arm { name: "title" text { hash_bits: 3 ngrams: 2 } }
  arm { name: "picture" vector { dimension: 3 l2_max: 2 } }
  crosses { a: "device" b: "tags" }
  crosses { a: "age" b: "weekend" })";

std::string TableDigestOf(const PublicSpec& spec) {
  return testing::ModelMessage(spec).table_digest();
}

std::string Reporting(const PublicSpec& spec) {
  if (spec.reward_window) return Text("reward_window");
  return Text(spec.one_per_decision ? "one_per_decision" : "immediate");
}

std::string PolicyCase(const std::string& name, const PublicSpec& spec) {
  const std::string text = PolicyText(spec);
  const auto window = spec.reward_window.value_or(RewardWindowSpec{});
  return Object({{"name", Text(name)},
                 {"text", Text(text)},
                 {"digest", Hex(std::string(AsChars(Sha256Of(text))))},
                 {"table_digest", Hex(TableDigestOf(spec))},
                 {"mode", Text(ModeName(spec.mode))},
                 {"mechanism", Text(MechanismName(spec.mechanism))},
                 {"dimension", std::to_string(spec.dimension)},
                 {"feature_l2_max", Bits(spec.feature_l2_max)},
                 {"reward_min", Bits(spec.reward_range.min + 0.0)},
                 {"reward_max", Bits(spec.reward_range.max)},
                 {"epsilon", Bits(spec.epsilon.value)},
                 {"delta", Bits(spec.delta.value)},
                 {"reporting", Reporting(spec)},
                 {"reward_window_ns", Signed(absl::ToInt64Nanoseconds(window.duration))},
                 {"default_reward", Bits(window.default_reward)},
                 {"token_lifetime_ns", Signed(absl::ToInt64Nanoseconds(spec.token_lifetime))}});
}

std::string Policies() {
  std::vector<std::pair<std::string, PublicSpec>> specs;
  specs.emplace_back("format 1: one report per decision", LocalSpec());
  PublicSpec spec = LocalSpec();
  spec.mechanism = MechanismId::kCentredRandomizer;
  spec.epsilon = {0.1};
  spec.reward_range = {-1, 1.00000762939453125};
  specs.emplace_back("format 1: a tie, which %.17g ends in 312 and JavaScript in 313", spec);
  spec = LocalSpec();
  spec.reward_range = {-0.0, 1e9};
  spec.epsilon = {2.2250738585072014e-5};
  spec.events_per_user_max = std::numeric_limits<std::uint64_t>::max();
  spec.reject_features = true;
  spec.reward_binary = true;
  specs.emplace_back("format 1: -0 is 0", spec);
  spec = LocalSpec();
  spec.research = true;
  spec.epsilon = {1000};
  spec.feature_l2_max = 1.0 / 3;
  specs.emplace_back("format 1: research", spec);
  specs.emplace_back("format 1: no privacy", RawSpec());
  spec = RawSpec();
  spec.one_per_decision = false;
  specs.emplace_back("format 1: no privacy, at once", spec);
  spec.reward_window = RewardWindowSpec{absl::Nanoseconds(1'500'000'001), 0.1};
  specs.emplace_back("format 1: no privacy, in a window", spec);
  specs.emplace_back("format 2: a counter", CounterModelSpec());
  specs.emplace_back("format 3: private contexts, PRIVUNIT", ContextModelSpec());
  specs.emplace_back("format 3: private contexts, JOINT_GAUSSIAN",
                     ContextModelSpec(MechanismId::kJointGaussian));
  spec = ContextModelSpec();
  spec.link = Link::kLogistic;
  specs.emplace_back("format 4: a curved link", spec);
  specs.emplace_back("format 5: a window", WindowSpec(absl::Nanoseconds(1'500'000'001), 0.25));
  spec = CounterModelSpec();
  spec.mode = Mode::kCentralReward;
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{absl::Minutes(1), 0, absl::Nanoseconds(12'050'000'001)};
  specs.emplace_back("format 5: a window that the server closes", spec);
  spec = WindowSpec(absl::Hours(168), 1);
  spec.token_lifetime = absl::Hours(720);
  spec.features = testing::MakeSchema(kSchema);
  spec.dimension = spec.features->dimension();
  specs.emplace_back("format 6: a schema with quotes", spec);
  std::vector<std::string> cases;
  for (const auto& [name, one] : specs) {
    const auto read = ParsePublicSpec(testing::ModelMessage(one).SerializeAsString());
    BANDANA_CHECK(read.ok());
    cases.push_back(PolicyCase(name, one));
  }
  const std::string good = PolicyText(WindowSpec(absl::Hours(1), 0.5));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    BANDANA_CHECK(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::pair<const char*, std::string> bad[] = {
      {"a format to come", changed("policy-5", "policy-7")},
      {"a format that its lines are not of", changed("policy-5", "policy-1")},
      {"a line that is not known", good + "sensors=all\n"},
      {"an empty line", good + "\n"},
      {"a line twice", changed("delta=0\n", "delta=0\ndelta=0\n")},
      {"a line that is missing", changed("delta=0\n", "")},
      {"lines that are swapped", changed("epsilon=1\ndelta=0\n", "delta=0\nepsilon=1\n")},
      {"no end of the last line", good.substr(0, good.size() - 1)},
      {"a number in another form", changed("epsilon=1\n", "epsilon=1.\n")},
      {"a number that is none", changed("epsilon=1\n", "epsilon=nan\n")},
      {"a window below 1 ms", changed("window_ns=3600000000000", "window_ns=999999")},
      {"a window above 168 h", changed("window_ns=3600000000000", "window_ns=604800000000001")},
      {"a window that outlives its tokens", changed("_ns=86400000000000", "_ns=3599999999999")},
      {"a default outside the range", changed("default_reward=0.5", "default_reward=1.5")},
      {"a grace where the device closes windows", changed("grace_ns=0", "grace_ns=1")},
      {"epsilon 0", changed("epsilon=1\n", "epsilon=0\n")},
      {"epsilon above 20 without research", changed("epsilon=1\n", "epsilon=20.5\n")},
      {"delta of a pure mechanism", changed("delta=0\n", "delta=1e-09\n")},
      {"rewards in no order", changed("reward_max=1\n", "reward_max=0\n")},
      {"another unit of privacy", changed("=event\n", "=user\n")},
      {"no reporting", changed("=reward_window\n", "=immediate\n")},
  };
  std::vector<std::string> refused;
  for (const auto& [name, text] : bad) {
    v1::GetModelResponse message;
    message.set_policy_text(text);
    message.set_policy_hash(std::string(AsChars(Sha256Of(text))));
    message.set_table_digest(TableDigestOf(LocalSpec()));
    BANDANA_CHECK(!ParsePublicSpec(message.SerializeAsString()).ok());
    refused.push_back(Object({{"name", Text(name)}, {"text", Text(text)}}));
  }
  return File("policy", 1, {{"taken", cases}, {"refused", refused}});
}

// ------------------------------------------------------------------------------ tables and draws

RewardRandomizer RandomizerOf(double epsilon, bool binary) {
  return *RewardRandomizer::Create(
      {.epsilon = {epsilon}, .range = {.min = 0, .max = 1}, .binary = binary});
}

std::vector<double> Epsilons() {
  std::vector<double> epsilons = {
      1e-6, 1e-3, 0.1, 0.5, 0.6, 0.62, 0.63,        0.7,  1,  1.5,  2,    0x1.5bf0a8b145769p+1,
      3,    5,    8,   10,  15,  20,   20.79441541, 20.8, 21, 1000, M_PI, 1.0 / 3};
  std::mt19937_64 random(2);
  while (epsilons.size() < 60) {
    epsilons.push_back(std::exp2(static_cast<double>(random() >> 11) * 0x1p-53 * 14 - 9));
  }
  return epsilons;
}

std::string Tables() {
  std::vector<std::string> cases;
  for (const double epsilon : Epsilons()) {
    for (const bool binary : {false, true}) {
      const RewardRandomizer randomizer = RandomizerOf(epsilon, binary);
      std::vector<std::string> components;
      for (const WindowMechanism& one : randomizer.components()) {
        components.push_back(
            List({std::to_string(one.shape().steps), std::to_string(one.shape().positions),
                  std::to_string(one.shape().width), Whole(one.shape().grain), Whole(one.high()),
                  Whole(one.low())}));
      }
      const Sha256Digest digest = randomizer.TableDigest();
      cases.push_back(Object({{"epsilon", Bits(epsilon)},
                              {"binary", binary ? "true" : "false"},
                              {"components", List(components)},
                              {"outputs", std::to_string(randomizer.outputs())},
                              {"digest", Hex(AsChars(digest))}}));
    }
  }
  return File("table", 1, {{"tables", cases}});
}

// The words, one after another.
class Words final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    BANDANA_CHECK(out.size() == sizeof word);
    std::memcpy(out.data(), &word, sizeof word);
    return absl::OkStatus();
  }
  std::uint64_t word = 0;
};

std::uint32_t OutputOf(const RewardRandomizer& randomizer, std::uint32_t step, Words& words) {
  // The grid of [0, 1] is exact: this reward is clipped to the step.
  const ClippedReward clipped =
      randomizer.Clip(RawReward(static_cast<double>(step) / RewardRandomizer::kInputSteps), 0);
  return randomizer.Randomize(clipped, words)->output();
}

std::uint32_t RandomStep(std::mt19937_64& random, bool binary) {
  constexpr std::uint32_t kSteps = RewardRandomizer::kInputSteps;
  if (binary) return random() % 2 == 0 ? 0 : kSteps;
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return kSteps;
    case 2:
      return static_cast<std::uint32_t>(random() % 513) * (kSteps / 512);
    default:
      return static_cast<std::uint32_t>(random() % (kSteps + 1));
  }
}

// Words at both ends of a cell as well as any.
std::uint64_t RandomWord(std::mt19937_64& random, const RewardRandomizer& randomizer,
                         std::uint32_t step) {
  if (random() % 2 == 0) return random();
  const auto& component = randomizer.components()[random() % randomizer.components().size()];
  std::uint64_t before = 0;
  for (const WindowMechanism& one : randomizer.components()) {
    if (&one == &component) break;
    before += one.total();
  }
  const std::uint64_t per_position = component.shape().steps / component.shape().positions;
  const std::uint64_t total = component.shape().grain * component.shape().positions;
  const std::uint64_t rounding = (random() % 2 == 0 ? step : random()) % per_position;
  std::uint64_t inside = 0;
  if (random() % 2 == 0) {
    inside = random() % (component.shape().width + 1) * component.high();
  } else {
    inside = component.shape().width * component.high() +
             random() % (component.shape().positions + 1) * component.low();
  }
  const std::uint64_t off = random() % 3;  // one below, at it, one above
  const std::uint64_t draw = rounding * total + (inside + total + off - 1) % total;
  return (before + draw) | (random() % 2 == 0 ? 0 : std::uint64_t{1} << 63);
}

std::string Draws() {
  std::mt19937_64 random(3);
  std::vector<std::string> cases;
  for (const double epsilon : {0.1, 0.7, 1.0, 2.0, 5.0, 20.0, 1000.0}) {
    for (const bool binary : {false, true}) {
      const RewardRandomizer randomizer = RandomizerOf(epsilon, binary);
      std::vector<std::string> draws;
      Words words;
      for (int i = 0; i < (binary ? 20 : 100); ++i) {
        const std::uint32_t step = RandomStep(random, binary);
        words.word = RandomWord(random, randomizer, step);
        draws.push_back(List({std::to_string(step), Whole(words.word),
                              std::to_string(OutputOf(randomizer, step, words))}));
      }
      cases.push_back(Object({{"epsilon", Bits(epsilon)},
                              {"binary", binary ? "true" : "false"},
                              {"draws", List(draws)}}));
    }
  }
  return File("draw", 1, {{"tables", cases}});
}

// ------------------------------------------------------------------------------------------- clip

std::uint64_t StepOf(const RewardRange& range, double default_reward, bool binary,
                     std::optional<double> reward, const std::optional<RewardRange>& window) {
  PublicSpec spec = LocalSpec();
  if (window) spec.mechanism = MechanismId::kCentredRandomizer;
  spec.reward_range = range;
  spec.reward_binary = binary;
  const auto made = *MakeMechanism(spec);
  const auto events =
      *device::Privatizer::Create({.rewards = {made, made->rewards()}, .cost = *made->cost()},
                                  {.model = "m", .range = range, .default_reward = default_reward});
  const device::SecretBytes held = events->Hold(reward, window);
  return ByteReader(held.get()).U64();
}

std::string Clips() {
  const RewardRange ranges[] = {{0, 1},
                                {-1, 1},
                                {-0.1, 0.2},
                                {0, 1e9},
                                {1, 1.0000000000000002},
                                {-1e9, 1e9},
                                {-3, 1.00000762939453125}};
  std::vector<std::string> cases;
  const auto add = [&](const RewardRange& range, double fallback, bool binary,
                       std::optional<double> reward, const std::optional<RewardRange>& window) {
    cases.push_back(
        Object({{"min", Bits(range.min)},
                {"max", Bits(range.max)},
                {"default", Bits(fallback)},
                {"binary", binary ? "true" : "false"},
                {"reward", reward ? Bits(*reward) : "null"},
                {"window", window ? List({Bits(window->min), Bits(window->max)}) : "null"},
                {"step", std::to_string(StepOf(range, fallback, binary, reward, window))}}));
  };
  std::mt19937_64 random(4);
  for (const RewardRange& range : ranges) {
    const double middle = range.min + (range.max - range.min) * 0.4;
    for (const bool binary : {false, true}) {
      for (const std::optional<double> reward :
           {std::optional<double>(), std::optional(kNan), std::optional(kInf), std::optional(-kInf),
            std::optional(range.min), std::optional(range.max), std::optional(range.min - 1),
            std::optional(range.max + 1), std::optional(-0.0), std::optional(0.5),
            std::optional(middle), std::optional(5e-324)}) {
        add(range, middle, binary, reward, std::nullopt);
      }
      for (int i = 0; i < 10; ++i) {
        const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
        add(range, range.max, binary, range.min + (range.max - range.min) * unit, std::nullopt);
      }
    }
  }
  // Halves of a step, which are rounded away from zero.
  for (int i = 0; i < 20; ++i) {
    const double step = static_cast<double>(random() % (1 << 20)) + 0.5;
    add({0, 1}, 0, false, step * 0x1p-20, std::nullopt);
  }
  // Windows of decisions; one that is not inside the range counts as none.
  for (const RewardRange& window :
       {RewardRange{0.25, 0.5}, RewardRange{0, 1}, RewardRange{0.5, 0.5}, RewardRange{-1, 0.5},
        RewardRange{0.5, 2}, RewardRange{0.75, 0.25}, RewardRange{kNan, 1}}) {
    for (const std::optional<double> reward :
         {std::optional<double>(), std::optional(0.3), std::optional(0.9), std::optional(kNan)}) {
      add({0, 1}, 0.4, false, reward, window);
    }
  }
  return File("clip", 1, {{"rewards", cases}});
}

// ------------------------------------------------------------------------------------------ times

std::string Times() {
  std::mt19937_64 random(5);
  std::vector<std::string> cases;
  const std::uint64_t ends[] = {0, 1, 2047, 2048, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  for (const absl::Duration window :
       {absl::Milliseconds(1), absl::Nanoseconds(1'500'000'001), absl::Seconds(8), absl::Minutes(8),
        absl::Minutes(8) - absl::Nanoseconds(1), absl::Minutes(10), absl::Hours(168),
        absl::Nanoseconds(1'000'003)}) {
    for (int i = 0; i < 16; ++i) {
      const std::uint64_t word = i < 6 ? ends[i] : random();
      const absl::Time decided = absl::FromUnixMicros(
          1'800'000'000'000'000 + static_cast<std::int64_t>(random() % 1'000'000'000));
      const WindowTimes times = ScheduleWindow(decided, window, word);
      cases.push_back(
          List({Signed(absl::ToUnixMicros(decided)), Signed(absl::ToInt64Nanoseconds(window)),
                Whole(word), Signed(absl::ToUnixMicros(times.close)),
                Signed(absl::ToUnixMicros(times.leave))}));
    }
  }
  return File("times", 1, {{"decided_us window_ns word close_us leave_us", cases}});
}

// ---------------------------------------------------------------------------------------- reports

std::string Reports() {
  const RewardRandomizer randomizer = RandomizerOf(2, false);
  std::vector<std::string> cases;
  std::mt19937_64 random(6);
  for (const std::string& token :
       {std::string("token"), std::string(200, 't'), std::string("\0\xff", 2)}) {
    for (const int shown : {0, 1, 99}) {
      for (const bool whole_range : {false, true}) {
        Words words;
        words.word = random();
        const auto reward = *randomizer.Randomize(randomizer.Clip(RawReward(0.5), 0), words);
        cases.push_back(Object(
            {{"token", Hex(token)},
             {"shown", std::to_string(shown)},
             {"output", std::to_string(reward.output())},
             {"whole_range", whole_range ? "true" : "false"},
             {"report", Hex(device::PerturbedReportBytes(token, shown, reward, whole_range))}}));
      }
    }
  }
  return File("report", 1, {{"reports", cases}});
}

}  // namespace

Files ValueFiles() {
  return {{"numbers.1.json", Numbers()},
          {"policy.1.json", Policies()},
          {"table.1.json", Tables()},
          {"draw.1.json", Draws()},
          {"clip.1.json", Clips()},
          {"times.1.json", Times()},
          {"features.1.json", FeatureVectors()},
          {"report.1.json", Reports()}};
}

std::string RandomDraws(int tables, int draws, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string lines;
  for (int table = 0; table < tables; ++table) {
    const double epsilon = std::exp2(static_cast<double>(random() >> 11) * 0x1p-53 * 23.5 - 14);
    const bool binary = random() % 4 == 0;
    const RewardRandomizer randomizer = RandomizerOf(epsilon, binary);
    const Sha256Digest digest = randomizer.TableDigest();
    lines +=
        "table " + Bits(epsilon).substr(1, 16) + (binary ? " 1 " : " 0 ") + ToHex(digest) + "\n";
    Words words;
    for (int i = 0; i < draws; ++i) {
      const std::uint32_t step = RandomStep(random, binary);
      words.word = RandomWord(random, randomizer, step);
      lines += std::to_string(step) + " " + std::to_string(words.word) + " " +
               std::to_string(OutputOf(randomizer, step, words)) + "\n";
    }
  }
  return lines;
}

}  // namespace bandana::vectors
