#include "research/lab/recsys20/run.h"

#include <memory>
#include <span>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/ranking/scoring.h"
#include "research/lab/recsys20/catalogue.h"
#include "research/lab/recsys20/world.h"
#include "research/lab/tally.h"
#include "tools/environments/random.h"

namespace bandana::lab {
namespace {

// Position of the arm to show. A null learner chooses at random.
int Choose(Learner* learner, const WorldDecision& decision, SeededStream& ties, ArmScores& scores) {
  const std::uint64_t key = ties.Next();
  if (learner == nullptr) return static_cast<int>(key % decision.expected.size());
  ScoreArms(learner->Posterior(decision.node), decision.features, scores);
  return RankArms(scores.scores, 1, key).front();
}

}  // namespace

absl::StatusOr<CellResult> RunCollaborative(const Cell& cell) {
  BANDANA_ASSIGN_OR_RETURN(Settings settings, SettingsOf(cell));
  LearnerOptions options;
  options.epsilon.value = cell.epsilon.value_or(0);
  options.delta.value = cell.delta.value_or(0);
  options.horizon = cell.horizon;
  options.seed = cell.seed;
  BANDANA_ASSIGN_OR_RETURN(options.alpha_factor,
                           settings.TakeDouble("alpha_factor", 1, 0, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(options.prior_factor,
                           settings.TakeDouble("prior_factor", 1, 1e-6, kScaleMax));
  BANDANA_ASSIGN_OR_RETURN(options.clip_factor, settings.TakeDouble("clip_factor", 1, 1e-6, 100));
  BANDANA_ASSIGN_OR_RETURN(const auto world,
                           World::Create(cell.environment, std::move(settings), cell.seed));
  BANDANA_ASSIGN_OR_RETURN(const Algorithm* algorithm, FindAlgorithm(cell.algorithm));
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<Learner> learner,
                           MakeLearner(*algorithm, cell.label, *world, options));

  const EnvironmentInfo& info = world->info();
  CellResult result{.cell = cell};
  result.mechanism = learner == nullptr ? "none" : learner->mechanism();
  result.dimension = info.dimension;
  result.users = world->nodes();
  result.arms = info.pool;
  SeededStream ties(cell.seed, StreamPurpose::kArrival, 0);
  WorldDecision decision;
  ArmScores scores;
  for (std::uint64_t round = 0; round < cell.horizon; ++round) {
    world->DecisionAt(round, decision);
    const int shown = Choose(learner.get(), decision, ties, scores);
    const double reward = world->RewardAt(round, decision, shown);
    AddRound(round,
             {.best = decision.source.BestExpected(),
              .shown = decision.expected[shown],
              .mean = decision.source.MeanExpected(),
              .reward = reward},
             result);
    if (learner != nullptr) {
      const std::size_t d = info.dimension;
      const auto x = std::span(decision.features).subspan(shown * d, d);
      BANDANA_RETURN_IF_ERROR(learner->Learn(decision.node, x, reward));
    }
  }
  return result;
}

}  // namespace bandana::lab
