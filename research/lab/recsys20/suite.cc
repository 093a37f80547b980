// [WZ20] Global and local differential privacy for collaborative bandits.
#include "research/lab/recsys20/suite.h"

#include "research/lab/recsys20/catalogue.h"
#include "research/lab/recsys20/run.h"

namespace bandana::lab {
namespace {

std::vector<Experiment> Experiments() {
  return {
      {.name = "recsys20-table1",
       .summary = "[WZ20] Table 1: regret at five epsilons",
       .environment = "gaussian",
       .algorithms = {"random", "linucb", "colin", "goblin", "linucb-private", "dp-colin",
                      "dp-goblin", "ldp-colin", "ldp-goblin"},
       .labels = {"random", "non-private", "published", "published-l2", "central", "shaped",
                  "counter", "randomizer", "auto", "centred"},
       .epsilons = {0.5, 1, 2, 5, 10},
       .horizons = {10'000},
       .figure = Figure::kRegretByEpsilon},
      {.name = "recsys20-regret",
       .summary = "[WZ20] Figure 1a, b: regret over time, central and local",
       .environment = "gaussian",
       .algorithms = {"random", "linucb", "colin", "goblin", "linucb-private", "dp-colin",
                      "dp-goblin", "ldp-colin", "ldp-goblin"},
       .labels = {"random", "non-private", "published", "auto"},
       .epsilons = {2},
       .horizons = {10'000},
       .figure = Figure::kRegretByRound},
      {.name = "recsys20-users",
       .summary = "[WZ20] Figure 1c: regret against the number of users",
       .environment = "gaussian",
       .settings = {{"users", "5,10,20,30,40,50"}},
       .algorithms = {"random", "colin", "dp-colin", "ldp-colin", "ldp-goblin"},
       .labels = {"random", "non-private", "published", "auto"},
       .epsilons = {2},
       .horizons = {10'000},
       .figure = Figure::kSweep,
       .title = "regret against the number of users, the rounds shared among them",
       .sweep = "users",
       .seeds = 3},
      {.name = "recsys20-lastfm",
       .summary = "[WZ20] Figure 2 on HetRec 2011 Last.fm: reward over time",
       .environment = "data",
       .algorithms = {"random", "linucb", "colin", "ldp-colin", "ldp-goblin"},
       .labels = {"random", "non-private", "auto"},
       .epsilons = {0.5, 1, 2, 5, 10},
       .horizons = {50'000},
       .figure = Figure::kRewardByRound,
       .seeds = 2},
      {.name = "recsys20-delicious",
       .summary = "[WZ20] Figure 2 on HetRec 2011 Delicious: reward over time",
       .environment = "data",
       .algorithms = {"random", "linucb", "colin", "ldp-colin", "ldp-goblin"},
       .labels = {"random", "non-private", "auto"},
       .epsilons = {0.5, 1, 2, 5, 10},
       .horizons = {50'000},
       .figure = Figure::kRewardByRound,
       .seeds = 2},
      {.name = "counter-crossing",
       .summary = "one user: where the counter overtakes the randomizer, and what is planned",
       .environment = "gaussian",
       .settings = {{"users", "1"}, {"reward_abs_max", "1"}},
       .algorithms = {"ldp-colin", "dp-colin"},
       .labels = {"counter", "randomizer", "centred", "auto"},
       .epsilons = {1},
       .horizons = {1'000, 2'000, 5'000, 10'000, 20'000, 50'000, 100'000, 300'000, 1'000'000},
       .figure = Figure::kRegretByHorizon,
       .title = "counter and randomizer, one user; rings: what the planner takes",
       .seeds = 8},
  };
}

std::string_view ReferenceOf(Family family) {
  switch (family) {
    case Family::kShared:
      return "linucb-shared";
    case Family::kIndependent:
      return "linucb";
    case Family::kColin:
      return "colin";
    case Family::kGoblin:
      break;
  }
  return "goblin";
}

std::vector<Contender> Contenders() {
  std::vector<Contender> contenders;
  for (const Algorithm& algorithm : Algorithms()) {
    Contender contender{.name = algorithm.name,
                        .panel = RowOf(algorithm.scope).panel,
                        .reference = ReferenceOf(algorithm.family)};
    for (const std::string_view label : algorithm.labels)
      contender.labels.push_back({label, UsesEpsilon(label), UsesDelta(label)});
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

}  // namespace

const Suite& Recsys20Suite() {
  static const Suite suite = {
      .experiments = Experiments(),
      .contenders = Contenders(),
      .settings = {"users", "dimension", "arms", "pool", "noise", "reward_abs_max", "features",
                   "world", "draw", "alpha_factor", "prior_factor", "clip_factor"},
      .run = RunCollaborative};
  return suite;
}

}  // namespace bandana::lab
