// Regret where the effects of arms are drawn anew at half time, and where they stay:
//   ./dev bench effects_drift [--rounds 200000 --users 5000 --arms 200 --seed 1]
// A line per half-life of the arms' effect, with the regret per round of each half.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "common/bandits/effects/effects_model.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"
#include "tools/environments/random.h"

ABSL_FLAG(int, users, 5000, "in blocks of 50");
ABSL_FLAG(int, arms, 200, "10 of them are on offer at a time");
ABSL_FLAG(int, rounds, 200'000, "decisions, each of a random user");
ABSL_FLAG(std::uint64_t, seed, 1, "of world and decisions");

namespace bandana::bench {
namespace {

constexpr int kDimension = 10;
constexpr int kOffered = 10;
constexpr int kBlock = 50;           // users of one block
constexpr double kLength = 0.5;      // of a user's coefficients, more or less
constexpr double kArmStddev = 0.25;  // of the arms' effects
constexpr double kRewardStddev = 0.1;
constexpr double kAlpha = 0.2;

using Vector = std::array<double, kDimension>;

Vector Direction(SeededStream& stream, double length) {
  Vector x;
  for (double& value : x) value = stream.QuickNormal();
  const double norm = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  for (double& value : x) value *= length / norm;
  return x;
}

std::vector<double> ArmEffects(std::uint64_t number) {
  SeededStream draw(absl::GetFlag(FLAGS_seed), StreamPurpose::kArm, number);
  std::vector<double> effects(absl::GetFlag(FLAGS_arms));
  for (double& value : effects) value = kArmStddev * draw.QuickNormal();
  return effects;
}

struct Regret {
  double first = 0;  // per round
  double second = 0;
};

Regret RegretOf(std::uint64_t half_life, bool drifts, EffectsAdapt adapt) {
  const int users = absl::GetFlag(FLAGS_users);
  const int rounds = absl::GetFlag(FLAGS_rounds);
  const std::uint64_t seed = absl::GetFlag(FLAGS_seed);
  SeededStream draw(seed, StreamPurpose::kUserParameter, 0);
  std::vector<Vector> theta;
  Vector block;
  for (int user = 0; user < users; ++user) {
    if (user % kBlock == 0) block = Direction(draw, kLength);
    const Vector own = Direction(draw, kLength);
    Vector& sum = theta.emplace_back();
    for (int i = 0; i < kDimension; ++i) sum[i] = 0.866 * block[i] + 0.5 * own[i];
  }
  std::vector<double> effects = ArmEffects(0);
  EffectsModel model = *EffectsModel::Create(kDimension,
                                             {{"constant", false, 0.1},
                                              {"shared", true, 0.1},
                                              {"block", true, 0.08},
                                              {"user", true, 0.02},
                                              {"arm", false, 0.03, false, half_life}},
                                             0.1, EffectsModel::kUnbounded, adapt);
  SeededStream stream(seed, StreamPurpose::kDecision, 0);
  NodePosterior posterior{.mean = std::vector<double>(kDimension),
                          .covariance = std::vector<double>(kDimension * kDimension),
                          .alpha = kAlpha};
  ArmScores scores;
  Regret regret;
  for (int round = 0; round < rounds; ++round) {
    if (drifts && 2 * round == rounds) effects = ArmEffects(1);
    const auto user = stream.Below(users);
    std::vector<EffectKey> keys = {kEverybody, kEverybody, user / kBlock + 2, user + 2, kAbsent};
    std::array<Vector, kOffered> x;
    std::array<const double*, kOffered> features;
    std::array<std::uint64_t, kOffered> arms;
    std::array<double, kOffered> expected{};
    model.SumVectors(keys, posterior.mean, posterior.covariance);
    for (int a = 0; a < kOffered; ++a) {
      x[a] = Direction(stream, 1);
      features[a] = x[a].data();
      arms[a] = stream.Below(effects.size());
      expected[a] =
          effects[arms[a]] + std::inner_product(x[a].begin(), x[a].end(), theta[user].begin(), 0.0);
    }
    ScoreArms(posterior, features, scores);
    const EffectsModel::Belief common = model.SumConstants(keys);
    for (int a = 0; a < kOffered; ++a) {
      std::vector<EffectKey> alone(keys.size(), kAbsent);
      alone[4] = arms[a] + 2;
      const EffectsModel::Belief own = model.SumConstants(alone);
      AddToArm(a, common.mean + own.mean, common.variance + own.variance, kAlpha, scores);
    }
    const auto a =
        std::max_element(scores.scores.begin(), scores.scores.end()) - scores.scores.begin();
    const double lost = *std::max_element(expected.begin(), expected.end()) - expected[a];
    (2 * round < rounds ? regret.first : regret.second) += 2 * lost / rounds;
    keys[4] = arms[a] + 2;
    model.Learn(keys, x[a], 0.5 + expected[a] + kRewardStddev * stream.QuickNormal(), 0);
  }
  return regret;
}

int Main() {
  for (const bool weights : {false, true}) {
    for (const bool drifts : {true, false}) {
      for (const std::uint64_t half_life : {0, 1000, 300, 100, 30}) {
        const Regret regret = RegretOf(half_life, drifts, {.weights = weights});
        std::printf("weights=%d drifts=%d half_life=%d first=%.4f second=%.4f\n", weights, drifts,
                    static_cast<int>(half_life), regret.first, regret.second);
        std::fflush(stdout);
      }
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
