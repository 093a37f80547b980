#include "research/lab/recsys22/dgs_run.h"

#include <Eigen/Dense>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/random/real_samplers.h"
#include "common/ranking/scoring.h"
#include "research/lab/noise.h"
#include "research/lab/recsys20/catalogue.h"
#include "research/lab/recsys20/world.h"
#include "research/lab/recsys22/dgs_learner.h"
#include "research/lab/tally.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

constexpr std::uint64_t kContextStream = std::uint64_t{1} << 40;

struct DgsSettings {
  double lambda_0 = 0;  // 0: 1 / d
  bool horizon_known = true;
  double context_noise = 0;
  int changed_round = -1;
};

absl::StatusOr<DgsSettings> Take(Settings& settings) {
  static constexpr std::string_view kTrees[] = {"known", "hybrid"};
  DgsSettings out;
  BANDANA_ASSIGN_OR_RETURN(out.lambda_0, settings.TakeDouble("lambda_0", 0, 0, 1e6));
  BANDANA_ASSIGN_OR_RETURN(const std::string tree, settings.TakeChoice("tree", "known", kTrees));
  out.horizon_known = tree == "known";
  BANDANA_ASSIGN_OR_RETURN(out.context_noise, settings.TakeDouble("context_noise", 0, 0, 1e3));
  BANDANA_ASSIGN_OR_RETURN(out.changed_round,
                           settings.TakeInt("changed_round", -1, -1, 1'000'000'000));
  return out;
}

// Null for the random policy.
absl::StatusOr<std::unique_ptr<Learner>> MakeCompared(const Cell& cell, const World& world,
                                                      const DgsSettings& settings) {
  LearnerOptions options{.epsilon = {cell.epsilon.value_or(0)},
                         .delta = {cell.delta.value_or(0)},
                         .horizon = cell.horizon,
                         .seed = cell.seed};
  const bool published = cell.label == "published" || cell.label == "published-authors";
  if (cell.algorithm == "linucb-dgs" && published) {
    const double base = settings.lambda_0 > 0 ? settings.lambda_0 : 1.0 / world.info().dimension;
    return MakeDgs(world, options,
                   {.sensitivity = cell.label == "published" ? DgsSensitivity::kPrinted
                                                             : DgsSensitivity::kAuthors,
                    .horizon_known = settings.horizon_known,
                    .lambda_0 = base + settings.context_noise * settings.context_noise});
  }
  // The proven forms of noise on b are those of linucb-private.
  const bool dgs = cell.algorithm == "linucb-dgs";
  const std::string label = dgs && cell.label == "proven" ? "central" : cell.label;
  BANDANA_ASSIGN_OR_RETURN(const Algorithm* algorithm,
                           FindAlgorithm(dgs ? "linucb-private" : cell.algorithm));
  return MakeLearner(*algorithm, label, world, options);
}

// theta of every user, by least squares on what was on offer.
class TrueParameters {
 public:
  TrueParameters(int users, int dimension)
      : gram_(users, Eigen::MatrixXd::Zero(dimension, dimension)),
        moment_(users, Eigen::VectorXd::Zero(dimension)) {}

  void Add(const WorldDecision& decision) {
    const Eigen::Index d = moment_[0].size();
    for (std::size_t a = 0; a < decision.expected.size(); ++a) {
      const Eigen::Map<const Eigen::VectorXd> x(decision.features.data() + a * d, d);
      gram_[decision.node].noalias() += x * x.transpose();
      moment_[decision.node] += decision.expected[a] * x;
    }
  }
  double MeanError(Learner& learner) const {
    double sum = 0;
    for (std::size_t u = 0; u < gram_.size(); ++u) {
      const Eigen::VectorXd theta = gram_[u].completeOrthogonalDecomposition().solve(moment_[u]);
      const std::vector<double>& mean = learner.Posterior(static_cast<int>(u)).mean;
      sum += (theta - Eigen::Map<const Eigen::VectorXd>(mean.data(), theta.size())).norm();
    }
    return sum / static_cast<double>(gram_.size());
  }

 private:
  std::vector<Eigen::MatrixXd> gram_;
  std::vector<Eigen::VectorXd> moment_;
};

struct Trace {
  CellResult result;
  std::vector<int> shown;
};

absl::StatusOr<Trace> RunOnce(const Cell& cell, const World& world, const DgsSettings& settings,
                              int changed_round) {
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner,
                           MakeCompared(cell, world, settings));
  const EnvironmentInfo& info = world.info();
  Trace trace{.result = {.cell = cell}};
  CellResult& result = trace.result;
  result.mechanism = learner == nullptr ? "none" : learner->mechanism();
  result.dimension = info.dimension;
  result.users = world.nodes();
  result.arms = info.pool;
  BANDANA_ASSIGN_OR_RETURN(const auto bits, LabNoise::Create(cell.seed, kContextStream));
  RealSampler moves(*bits);
  SeededStream ties(cell.seed, StreamPurpose::kArrival, 0);
  TrueParameters truth(world.nodes(), info.dimension);
  WorldDecision decision;
  ArmScores scores;
  std::vector<double> moved;
  const std::size_t d = info.dimension;
  for (std::uint64_t round = 0; round < cell.horizon; ++round) {
    world.DecisionAt(round, decision);
    truth.Add(decision);
    if (settings.context_noise > 0) {
      moved.resize(decision.features.size());
      BANDANA_RETURN_IF_ERROR(moves.FillNormal(moved));
      for (std::size_t i = 0; i < moved.size(); ++i)
        decision.features[i] += settings.context_noise * moved[i];
    }
    const std::uint64_t key = ties.Next();
    int shown = static_cast<int>(key % decision.expected.size());
    if (learner != nullptr) {
      ScoreArms(learner->Posterior(decision.node), decision.features, scores);
      shown = RankArms(scores.scores, 1, key).front();
    }
    double reward = world.RewardAt(round, decision, shown);
    AddRound(round,
             {.best = decision.source.BestExpected(),
              .shown = decision.expected[shown],
              .mean = decision.source.MeanExpected(),
              .reward = reward},
             result);
    trace.shown.push_back(shown);
    if (static_cast<std::int64_t>(round) == changed_round) {
      const double middle = (info.reward_min + info.reward_max) / 2;
      reward = reward < middle ? info.reward_max : info.reward_min;
    }
    if (learner != nullptr) {
      BANDANA_RETURN_IF_ERROR(learner->Learn(
          decision.node, std::span<const double>(decision.features).subspan(shown * d, d), reward));
    }
  }
  if (learner != nullptr) result.measures["theta_error"] = truth.MeanError(*learner);
  return trace;
}

}  // namespace

absl::StatusOr<CellResult> RunDgs(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  BANDANA_ASSIGN_OR_RETURN(const DgsSettings dgs, Take(settings));
  BANDANA_ASSIGN_OR_RETURN(const auto world,
                           World::Create(cell.environment, std::move(settings), cell.seed));
  BANDANA_ASSIGN_OR_RETURN(Trace trace, RunOnce(cell, *world, dgs, -1));
  if (dgs.changed_round >= 0) {
    BANDANA_ASSIGN_OR_RETURN(const Trace other, RunOnce(cell, *world, dgs, dgs.changed_round));
    int changed = 0;
    for (std::size_t t = 0; t < trace.shown.size(); ++t)
      changed += trace.shown[t] != other.shown[t] ? 1 : 0;
    trace.result.measures["arms_changed"] = changed;
    trace.result.measures["changed_round"] = dgs.changed_round;
  }
  return std::move(trace.result);
}

}  // namespace bandana::lab
