// An experiment is data: what to run and how to draw it. A suite holds the experiments of a paper.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "research/lab/cells.h"
#include "tools/base/settings.h"

namespace bandana::lab {

enum class Figure {
  kRegretByEpsilon,  // final regret against epsilon, a panel a private algorithm
  kRegretByRound,    // cumulative regret against rounds, a panel a Contender::panel
  kRegretGrowth,     // the same, both axes in logarithms, with the fitted exponents
  kRegretByHorizon,  // final regret a round against the horizon, both axes in logarithms
  kRewardByRound,    // cumulative reward against rounds
  kSweep,            // Experiment::value against Experiment::sweep, a panel a setting
};

// A label may name an algorithm's or be one that only some algorithms have: the others skip it.
// `settings` are defaults of the suite's keys; like every key they may be comma lists, and then
// every combination is run.
struct Experiment {
  std::string_view name;
  std::string_view summary;
  std::string_view environment;  // `data`: the folder that the key `data` names
  std::vector<std::pair<std::string_view, std::string_view>> settings;
  std::vector<std::string_view> algorithms;
  std::vector<std::string_view> labels;
  std::vector<double> epsilons;
  double delta = 1e-5;
  std::vector<std::uint64_t> horizons;
  Figure figure = Figure::kRegretByEpsilon;
  std::string_view title;          // of the picture; empty: the figure's own
  std::string_view sweep;          // kSweep: `epsilon`, `horizon` or a key of numbers in `settings`
  std::string_view value;          // kSweep: empty for the regret, or a CellResult::measures
  std::string_view value_meaning;  // kSweep: of `value`, with its unit
  int seeds = 5;
};

// The label of an algorithm, and whether epsilon and delta mean anything then.
struct Label {
  std::string_view name;
  bool uses_epsilon = true;
  bool uses_delta = true;
};

struct Contender {
  std::string_view name;
  std::vector<Label> labels;
  std::string_view panel;      // kRegretByRound: where it is drawn; empty: in every panel
  std::string_view reference;  // the algorithm whose non-private form it is compared with
  double exponent = 0;         // of the horizon in the paper's bound of the regret; 0: none
};

// The experiments of one paper and what may run in them.
struct Suite {
  std::vector<Experiment> experiments;
  std::vector<Contender> contenders;
  std::vector<std::string_view> settings;  // the keys that `run` takes
  RunFunction run = nullptr;
};

struct FoundExperiment {
  const Suite* suite = nullptr;
  const Experiment* experiment = nullptr;
};
// Errors: INVALID_ARGUMENT lists the names there are.
absl::StatusOr<FoundExperiment> FindExperiment(std::span<const Suite* const> suites,
                                               std::string_view name);

// The runs of an experiment with the keys `algorithms`, `labels`, `epsilon`, `delta`, `horizon`,
// `environment`, `data` and those of the suite. All but the last two of these take comma lists.
// Seeds are 1 .. `seeds`. Errors: INVALID_ARGUMENT a key, a value or a name; FAILED_PRECONDITION
// the experiment needs `data`.
absl::StatusOr<std::vector<Cell>> CellsOf(const Suite& suite, const Experiment& experiment,
                                          Settings settings, int seeds);

}  // namespace bandana::lab
