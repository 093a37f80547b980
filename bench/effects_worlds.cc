// Regret of models of effects in worlds of users in blocks, in process:
//   ./dev bench effects_worlds [--users 100000 --rounds 1000000 --epsilon 2 --seed 1]
// For each world and each policy one line, with the regret as a share of that of independent users.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "common/bandits/effects/effects_model.h"
#include "common/mechanisms/centred_window.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"
#include "tools/environments/random.h"

ABSL_FLAG(int, users, 100'000, "in blocks of 50");
ABSL_FLAG(int, rounds, 1'000'000, "decisions, each of a random user");
ABSL_FLAG(double, epsilon, 0, "of a report; 0: rewards are not randomized");
ABSL_FLAG(std::uint64_t, seed, 1, "of world and decisions");

namespace bandana::bench {
namespace {

constexpr int kDimension = 10;
constexpr int kArms = 10;
constexpr int kBlock = 50;       // users of one block
constexpr double kLength = 0.5;  // of a user's coefficients, more or less
constexpr double kRewardStddev = 0.1;
constexpr double kNoiseVariance = 0.1;  // as the models believe
constexpr double kAlpha = 0.2;

using Vector = std::array<double, kDimension>;

Vector Direction(SeededStream& stream, double length) {
  Vector x;
  double square = 0;
  for (double& value : x) {
    value = stream.QuickNormal();
    square += value * value;
  }
  for (double& value : x) value *= length / std::sqrt(square);
  return x;
}

// Shares of a user's coefficients: squares add up to 1.
struct World {
  const char* name;
  double shared;
  double block;
  double own;
};
constexpr World kWorlds[] = {{"blocks", 0, 0.866, 0.5},
                             {"shared_and_blocks", 0.8, 0.5196, 0.3},
                             {"no_groups", 0, 0.3122, 0.95}};  // neighbours correlate 0.1

struct Policy {
  const char* name;
  std::vector<int> per_block;  // groups per block of each level; negative: blocks per group
  EffectsAdapt adapt;
  bool centred = false;  // with --epsilon: rewards are clipped to windows around their predictions
  bool told = false;     // the world's own effects and scales: as good as learning them can get
};
const Policy kPolicies[] = {
    {"independent", {}, {}},
    {"effects_4", {4, 1, -4, -16}, {}},
    {"effects_9", {16, 8, 4, 2, 1, -2, -4, -8, -16}, {}},
    {"effects_9_learnt", {16, 8, 4, 2, 1, -2, -4, -8, -16}, {.scales = true}},
    {"effects_4_weights", {4, 1, -4, -16}, {.weights = true}},
    {"effects_9_weights", {16, 8, 4, 2, 1, -2, -4, -8, -16}, {.weights = true}},
    {"world_scales", {1}, {}, false, true},
    {"effects_9_centred", {16, 8, 4, 2, 1, -2, -4, -8, -16}, {}, true}};

EffectKey GroupOf(int user, int per_block) {
  const int block = user / kBlock;
  const int group =
      per_block < 0 ? block / -per_block : block * per_block + user % kBlock * per_block / kBlock;
  return static_cast<EffectKey>(group) + 2;
}

EffectsModel ModelOf(const World& world, const Policy& policy) {
  // The variance of one coefficient of a component with this share of a user's length; above 0.
  const auto scale = [&policy](double share, double declared) {
    return policy.told ? std::max(1e-6, kLength * kLength / kDimension * share * share) : declared;
  };
  std::vector<Effect> effects = {{"constant", false, 0.1}};
  if (policy.per_block.empty()) {
    effects.push_back({"user", true, 0.1});
  } else {
    effects.push_back({"user", true, scale(world.own, 0.02)});
    effects.push_back({"shared", true, scale(world.shared, 0.1)});
  }
  for (const int level : policy.per_block) {
    effects.push_back({"level" + std::to_string(level), true,
                       scale(world.block, 0.08 / static_cast<double>(policy.per_block.size()))});
  }
  return *EffectsModel::Create(kDimension, effects, kNoiseVariance, EffectsModel::kUnbounded,
                               policy.adapt);
}

double RegretOf(const World& world, const Policy& policy) {
  const int users = absl::GetFlag(FLAGS_users);
  const double epsilon = absl::GetFlag(FLAGS_epsilon);
  const std::uint64_t seed = absl::GetFlag(FLAGS_seed);
  SeededStream draw(seed, StreamPurpose::kUserParameter, 0);
  const Vector shared = Direction(draw, kLength);
  std::vector<Vector> theta;
  Vector block;
  for (int user = 0; user < users; ++user) {
    if (user % kBlock == 0) block = Direction(draw, kLength);
    Vector own = Direction(draw, kLength);
    for (int i = 0; i < kDimension; ++i) {
      own[i] = world.shared * shared[i] + world.block * block[i] + world.own * own[i];
    }
    theta.push_back(own);
  }
  EffectsModel model = ModelOf(world, policy);
  // Two values, so many times as far apart as the ends of the window, which is [0, 1] or around the
  // prediction.
  const double spread = epsilon > 0 ? 1 / std::tanh(epsilon / 2) : 0;
  SeededStream stream(seed, StreamPurpose::kDecision, 0);
  NodePosterior posterior{.mean = std::vector<double>(kDimension),
                          .covariance = std::vector<double>(kDimension * kDimension),
                          .alpha = kAlpha};
  ArmScores scores;
  double regret = 0;
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    const auto user = static_cast<int>(stream.Below(users));
    std::vector<EffectKey> keys = {kEverybody, static_cast<EffectKey>(user) + 2};
    if (!policy.per_block.empty()) keys.push_back(kEverybody);
    for (const int level : policy.per_block) keys.push_back(GroupOf(user, level));
    std::array<Vector, kArms> arms;
    std::array<const double*, kArms> features;
    std::array<double, kArms> expected{};
    for (int a = 0; a < kArms; ++a) {
      arms[a] = Direction(stream, 1);
      features[a] = arms[a].data();
      for (int i = 0; i < kDimension; ++i) expected[a] += arms[a][i] * theta[user][i];
    }
    model.SumVectors(keys, posterior.mean, posterior.covariance);
    ScoreArms(posterior, features, scores);
    const auto shown = std::max_element(scores.scores.begin(), scores.scores.end());
    const auto a = static_cast<int>(shown - scores.scores.begin());
    regret += *std::max_element(expected.begin(), expected.end()) - expected[a];
    double reward = 0.5 + expected[a] + kRewardStddev * stream.QuickNormal();
    double variance = 0;
    if (epsilon > 0) {
      const EffectsModel::Belief belief = model.Predict(keys, arms[a]);
      const RewardRange all{.min = 0, .max = 1};
      const RewardRange window = policy.centred
                                     ? CentredWindow(all, belief.mean, std::sqrt(belief.variance),
                                                     std::sqrt(kNoiseVariance), Epsilon{epsilon})
                                     : all;
      const double length = window.max - window.min;
      const double share = (std::clamp(reward, window.min, window.max) - window.min) / length;
      const bool up = stream.Uniform() < 0.5 + (share - 0.5) / spread;
      reward = window.middle() + (up ? spread : -spread) * length / 2;
      variance = length * length * (spread * spread - 1) / 4;
    }
    model.Learn(keys, arms[a], reward, variance);
  }
  return regret;
}

int Main() {
  for (const World& world : kWorlds) {
    double independent = 0;
    for (const Policy& policy : kPolicies) {
      if (policy.centred && absl::GetFlag(FLAGS_epsilon) == 0) continue;
      const double regret = RegretOf(world, policy);
      if (policy.per_block.empty()) independent = regret;
      std::printf("world=%s policy=%s regret=%.0f of_independent=%.3f\n", world.name, policy.name,
                  regret, regret / independent);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
