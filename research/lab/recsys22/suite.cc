// [WZ22] Dynamic global sensitivity for differentially private contextual bandits.
#include "research/lab/recsys22/suite.h"

#include "research/lab/recsys22/dgs_run.h"

namespace bandana::lab {
namespace {

constexpr double kDelta = 0.1;

// K = 1000 arms, d = 10, 10 on offer, one user, reward noise 0.5, rewards clipped to [-1, 1].
std::vector<std::pair<std::string_view, std::string_view>> Synthetic(
    std::vector<std::pair<std::string_view, std::string_view>> further) {
  std::vector<std::pair<std::string_view, std::string_view>> settings = {
      {"users", "1"}, {"noise", "0.5"}, {"reward_abs_max", "1"}};
  settings.insert(settings.end(), further.begin(), further.end());
  return settings;
}

std::vector<Experiment> Experiments() {
  const std::vector<std::string_view> algorithms = {"random", "linucb", "linucb-private",
                                                    "linucb-dgs"};
  const std::vector<std::string_view> labels = {
      "random", "non-private", "published", "published-authors", "proven", "auto"};
  const std::vector<std::string_view> learners(algorithms.begin() + 1, algorithms.end());
  // The dense matrix of linucb-private, published, would be too large for the 100 clusters of
  // Last.fm.
  const std::vector<std::string_view> recorded = {"linucb", "linucb-dgs"};
  return {
      {.name = "recsys22-regret",
       .summary = "[WZ22] regret over time, synthetic",
       .environment = "gaussian",
       .settings = Synthetic({}),
       .algorithms = algorithms,
       .labels = labels,
       .epsilons = {2},
       .delta = kDelta,
       .horizons = {5'000},
       .figure = Figure::kRegretByRound,
       .title = "epsilon 2, delta 0.1"},
      {.name = "recsys22-lastfm",
       .summary = "[WZ22] reward over time on HetRec 2011 Last.fm",
       .environment = "data",
       .algorithms = {"random", "linucb", "linucb-dgs"},
       .labels = labels,
       .epsilons = {2},
       .delta = kDelta,
       .horizons = {5'000},
       .figure = Figure::kRewardByRound,
       .seeds = 3},
      {.name = "recsys22-estimation",
       .summary = "[WZ22] error of the released theta against the number of rounds",
       .environment = "gaussian",
       .settings = Synthetic({}),
       .algorithms = learners,
       .labels = labels,
       .epsilons = {2},
       .delta = kDelta,
       .horizons = {100, 200, 500, 1'000, 2'000, 5'000},
       .figure = Figure::kSweep,
       .title = "error of the released theta, epsilon 2, delta 0.1",
       .sweep = "horizon",
       .value = "theta_error",
       .value_meaning = "|theta-hat - theta*| (reward units)"},
      {.name = "recsys22-epsilon",
       .summary = "[WZ22] regret against epsilon",
       .environment = "gaussian",
       .settings = Synthetic({}),
       .algorithms = algorithms,
       .labels = labels,
       .epsilons = {0.5, 1, 2, 3, 4, 5},
       .delta = kDelta,
       .horizons = {5'000},
       .figure = Figure::kSweep,
       .title = "regret at 5000 rounds against epsilon, delta 0.1",
       .sweep = "epsilon"},
      {.name = "recsys22-sensitivity",
       .summary = "[WZ22] arms that change when one reward does, synthetic",
       .environment = "gaussian",
       .settings = Synthetic({{"changed_round", "0,100,200"}}),
       .algorithms = learners,
       .labels = labels,
       .epsilons = {2},
       .delta = kDelta,
       .horizons = {500},
       .figure = Figure::kSweep,
       .title = "of 500 arms, those that change with the reward of one round",
       .sweep = "changed_round",
       .value = "arms_changed",
       .value_meaning = "arms chosen differently"},
      {.name = "recsys22-sensitivity-lastfm",
       .summary = "[WZ22] arms that change when one reward does, HetRec 2011 Last.fm",
       .environment = "data",
       .settings = {{"changed_round", "0,1000,2000"}},
       .algorithms = recorded,
       .labels = labels,
       .epsilons = {2},
       .delta = kDelta,
       .horizons = {5'000},
       .figure = Figure::kSweep,
       .title = "of 5000 arms, those that change with the reward of one round",
       .sweep = "changed_round",
       .value = "arms_changed",
       .value_meaning = "arms chosen differently"},
  };
}

std::vector<Contender> Contenders() {
  return {{.name = "random", .labels = {{"random", false, false}}},
          {.name = "linucb", .labels = {{"non-private", false, false}}},
          {.name = "linucb-private", .labels = {{"published", true, false}}, .reference = "linucb"},
          {.name = "linucb-dgs",
           .labels = {{"published"}, {"published-authors"}, {"proven"}, {"auto"}},
           .reference = "linucb"}};
}

}  // namespace

const Suite& Recsys22Suite() {
  static const Suite suite = {
      .experiments = Experiments(),
      .contenders = Contenders(),
      .settings = {"users", "dimension", "arms", "pool", "noise", "reward_abs_max", "features",
                   "world", "draw", "lambda_0", "tree", "context_noise", "changed_round"},
      .run = RunDgs};
  return suite;
}

}  // namespace bandana::lab
