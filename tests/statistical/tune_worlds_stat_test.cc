// Worlds whose noise and prior are known: tuning finds both, from raw and from randomized rewards.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "common/decisions/logged_decision.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"
#include "tools/decisions/decision_sink.h"
#include "tools/tune/tune.h"

namespace bandana::testing {
namespace {

constexpr int kUsers = 200;
constexpr int kDimension = 5;
constexpr int kArms = 3;
constexpr double kPriorStddev = 0.2;

// Rewards are -0.5 or 0.5, with mean x . theta of the user: 0.5 + x . theta is a probability but in
// 0.6 % of the draws. Choices are uniform. Answers the rewards' deviation around their means.
double WriteWorld(std::uint64_t seed, int decisions, const std::string& path) {
  TestRng rng(seed);
  std::vector<std::vector<double>> theta(kUsers);
  for (auto& user : theta) {
    for (int i = 0; i < kDimension; ++i) user.push_back(kPriorStddev * rng.Normal());
  }
  auto sink = OpenDecisionSink(path, "");
  EXPECT_THAT(sink, IsOk());
  double noise = 0;
  for (int number = 0; number < decisions; ++number) {
    const int user = rng.Index(kUsers);
    LoggedDecision decision;
    decision.id = absl::StrCat(number);
    decision.time = absl::FromUnixSeconds(1'700'000'000 + number);
    decision.user = absl::StrCat("u", user);
    decision.range = {-0.5, 0.5};
    LoggedSlot slot;
    slot.offered = kArms;
    slot.chosen = static_cast<std::uint32_t>(rng.Index(kArms));
    double mean = 0;
    for (std::uint32_t arm = 0; arm < kArms; ++arm) {
      slot.names.push_back(absl::StrCat("arm", arm));
      slot.p.push_back(1.0 / kArms);
      const std::vector<double> x = rng.UnitVector(kDimension);
      slot.x.insert(slot.x.end(), x.begin(), x.end());
      for (int i = 0; i < kDimension && arm == slot.chosen; ++i) mean += x[i] * theta[user][i];
    }
    slot.chosen_p = 1.0 / kArms;
    const double p = std::clamp(0.5 + mean, 0.0, 1.0);
    slot.state = RewardState::kKnown;
    slot.reward = rng.Uniform() < p ? 0.5 : -0.5;
    noise += p * (1 - p);
    decision.slots = {slot};
    EXPECT_THAT((*sink)->Write(decision), IsOk());
  }
  EXPECT_THAT((*sink)->Finish(), IsOk());
  return std::sqrt(noise / decisions);
}

void WriteConfig(const std::string& mode, const std::string& path) {
  std::ofstream(path) << "models {\n  name: \"m\"\n  dimension: 5\n  reward_min: -0.5\n"
                         "  reward_max: 0.5\n  reward_binary: true\n"
                         "  independent { users_max: 1000 }\n  exploration { alpha: 0.3 }\n"
                         "  policy { uniform_mix { uniform_share: 0.1 } }\n"
                      << mode << "}\n";
}

double ParameterOf(const TuneCandidate& candidate, const std::string& name) {
  for (const auto& [known, value] : candidate.parameters) {
    if (known == name) return value;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

void ExpectFound(std::uint64_t seed, const std::string& mode) {
  const TempDir folder;
  const double noise = WriteWorld(seed, 20'000, folder.File("log.jsonl"));
  WriteConfig(mode, folder.File("server.textproto"));
  const auto tuning = Tune({.logs = {folder.File("log.jsonl")},
                            .config = folder.File("server.textproto"),
                            .model = "m"});
  ASSERT_THAT(tuning, IsOk());
  ASSERT_GE(tuning->candidates.size(), 2u);
  const TuneCandidate& given = tuning->candidates[0];
  const TuneCandidate& tuned = tuning->candidates[1];
  EXPECT_EQ(tuning->decisions, 20'000u);
  EXPECT_EQ(ParameterOf(given, "reward_stddev"), 1);
  EXPECT_GT(tuned.evidence, given.evidence);
  EXPECT_NEAR(ParameterOf(tuned, "reward_stddev"), noise, 0.2 * noise);
  EXPECT_NEAR(ParameterOf(tuned, "prior_stddev"), kPriorStddev, 0.3 * kPriorStddev);

  std::printf("seed %d: noise %.3f of %.3f, prior %.3f of %.3f, %d replays\n",
              static_cast<int>(seed), ParameterOf(tuned, "reward_stddev"), noise,
              ParameterOf(tuned, "prior_stddev"), kPriorStddev, tuning->evaluations);
}

TEST(TuneWorlds, FindsNoiseAndPriorOfRawRewards) { ExpectFound(1, "  mode: NON_PRIVATE\n"); }

TEST(TuneWorlds, FindsThemAtEpsilonOne) {
  ExpectFound(2,
              "  mode: LOCAL_REWARD\n"
              "  privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }\n"
              "  reporting { one_per_decision: true }\n");
}

}  // namespace
}  // namespace bandana::testing
