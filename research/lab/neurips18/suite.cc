#include "research/lab/neurips18/suite.h"

#include "research/lab/neurips18/run.h"

namespace bandana::lab {

const Suite& Neurips18Suite() {
  static const Suite suite = {
      .experiments = {{.name = "neurips18-regret",
                       .summary = "[SS18] joint privacy: regret over time",
                       .environment = "sphere",
                       .algorithms = {"random", "linucb", "linucb-jdp"},
                       .labels = {"random", "non-private", "published", "published-wishart",
                                  "published-wishart-shifted", "auto"},
                       .epsilons = {1},
                       .delta = 0.1,
                       .horizons = {5'000'000},
                       .figure = Figure::kRegretGrowth}},
      .contenders = {{.name = "random", .labels = {{"random", false, false}}},
                     {.name = "linucb", .labels = {{"non-private", false, false}}},
                     {.name = "linucb-jdp",
                      .labels = {{"published"},
                                 {"published-wishart"},
                                 {"published-wishart-shifted"},
                                 {"auto"},
                                 {"epochs"},
                                 {"blt"}},
                      .reference = "linucb"}},
      .settings = {"dimension", "pool", "theta_l2", "gap", "arms", "policy", "scale", "alpha",
                   "prior_stddev", "reward_stddev", "theta_max"},
      .run = RunJoint};
  return suite;
}

}  // namespace bandana::lab
