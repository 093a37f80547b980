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
#include "tools/judge/log_files.h"
#include "tools/replay/replayed_model.h"
#include "tools/tune/tune.h"

namespace bandana::testing {
namespace {

constexpr int kUsers = 200;
constexpr int kDimension = 5;
constexpr int kArms = 3;
constexpr double kPriorStddev = 0.2;

struct World {
  double noise = 0;  // the rewards' deviation around their means
  std::vector<std::vector<double>> theta;
};

// Rewards are -0.5 or 0.5, with mean x . theta of the user: 0.5 + x . theta is a probability but in
// 0.6 % of the draws. Choices are uniform.
World WriteWorld(std::uint64_t seed, int decisions, const std::string& path) {
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
  return {.noise = std::sqrt(noise / decisions), .theta = std::move(theta)};
}

// A decision for this user whose arms are the coordinates of theta.
LoggedDecision Question(int user) {
  LoggedDecision decision;
  decision.user = absl::StrCat("u", user);
  LoggedSlot slot;
  slot.offered = kDimension;
  slot.x.assign(kDimension * kDimension, 0);
  for (int i = 0; i < kDimension; ++i) {
    slot.names.push_back(absl::StrCat("arm", i));
    slot.x[static_cast<std::size_t>(i * (kDimension + 1))] = 1;
  }
  decision.slots = {slot};
  return decision;
}

// Mean over users of |E[theta | log] - theta|^2 under these scales, as the state machine that
// serves learns the log. Rewards are randomized by the same draws whatever the scales.
double SquaredError(const World& world, const TempDir& folder, v1::ModelConfig config, double noise,
                    double prior) {
  config.set_reward_stddev(noise);
  config.set_prior_stddev(prior);
  std::ofstream(folder.File("scales.textproto")) << config.DebugString();
  auto model = ReplayedModel::Create({.file = folder.File("scales.textproto")});
  EXPECT_THAT(model, IsOk());
  LogFiles log({folder.File("log.jsonl")});
  EXPECT_THAT(log.Start(), IsOk());
  LoggedDecision decision;
  DecisionFault fault;
  while (*log.Read(decision, fault) == DecisionStream::Next::kDecision) {
    EXPECT_THAT((*model)->Learn(decision), IsOk());
  }
  double error = 0;
  std::vector<double> means;
  for (int user = 0; user < kUsers; ++user) {
    decision = Question(user);
    EXPECT_THAT((*model)->Means(decision, decision.slots[0], means), IsOk());
    for (std::size_t i = 0; i < means.size(); ++i) {
      error += std::pow(means[i] - world.theta[static_cast<std::size_t>(user)][i], 2) / kUsers;
    }
  }
  return error;
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

// `falls`: by so much the squared error of theta falls from the default scales to the tuned ones,
// at least.
void ExpectFound(std::uint64_t seed, const std::string& mode, double falls) {
  const TempDir folder;
  const World world = WriteWorld(seed, 20'000, folder.File("log.jsonl"));
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
  const double noise = world.noise;
  EXPECT_NEAR(ParameterOf(tuned, "reward_stddev"), noise, 0.2 * noise);
  EXPECT_NEAR(ParameterOf(tuned, "prior_stddev"), kPriorStddev, 0.3 * kPriorStddev);

  const double found_noise = ParameterOf(tuned, "reward_stddev");
  const double found_prior = ParameterOf(tuned, "prior_stddev");
  const double before = SquaredError(world, folder, given.config, 1, 1);
  const double after = SquaredError(world, folder, given.config, found_noise, found_prior);
  const double best = SquaredError(world, folder, given.config, noise, kPriorStddev);
  EXPECT_LE(after, (1 - falls) * before);
  EXPECT_NEAR(after, best, 0.05 * best);
  std::printf(
      "seed %d: noise %.3f of %.3f, prior %.3f of %.3f, %d replays; squared error %.4f by "
      "default, %.4f tuned, %.4f by the true scales\n",
      static_cast<int>(seed), found_noise, noise, found_prior, kPriorStddev, tuning->evaluations,
      before, after, best);
}

TEST(TuneWorlds, FindsNoiseAndPriorOfRawRewards) { ExpectFound(1, "  mode: NON_PRIVATE\n", 0); }

TEST(TuneWorlds, FindsThemAtEpsilonOne) {
  ExpectFound(2,
              "  mode: LOCAL_REWARD\n"
              "  privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER }\n"
              "  reporting { one_per_decision: true }\n",
              0.2);
}

}  // namespace
}  // namespace bandana::testing
