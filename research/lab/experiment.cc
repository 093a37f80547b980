#include "research/lab/experiment.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::lab {
namespace {

constexpr double kHorizonMax = 1e9;
constexpr std::string_view kRecorded = "data";  // the environment of a data set

// `key` as a comma list, or what the experiment says.
absl::StatusOr<std::vector<std::string>> TakeNames(Settings& settings, std::string_view key,
                                                   const std::vector<std::string_view>& otherwise) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, settings.TakeText(key, ""));
  if (text.empty()) return std::vector<std::string>(otherwise.begin(), otherwise.end());
  return std::vector<std::string>(absl::StrSplit(text, ','));
}

template <typename T>
absl::StatusOr<std::vector<T>> TakeNumbers(Settings& settings, std::string_view key,
                                           const std::vector<T>& otherwise, double min,
                                           double max) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, settings.TakeText(key, ""));
  if (text.empty()) return otherwise;
  std::vector<T> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value) || !(value >= min && value <= max) ||
        static_cast<double>(static_cast<T>(value)) != value) {
      return InvalidArgument("setting `", ToAbsl(key), "` must list ",
                             std::is_integral_v<T> ? "integers" : "numbers", " in [", min, ", ",
                             max, "], got `", part, "`");
    }
    numbers.push_back(static_cast<T>(value));
  }
  return numbers;
}

using Values = std::map<std::string, std::string>;

// Every combination of the values that the suite's keys were given.
absl::StatusOr<std::vector<Values>> Combinations(const Suite& suite, const Experiment& experiment,
                                                 Settings& settings) {
  std::vector<Values> combinations(1);
  for (const std::string_view key : suite.settings) {
    std::string_view otherwise;
    for (const auto& [name, value] : experiment.settings) {
      if (name == key) otherwise = value;
    }
    const bool given = settings.Has(key);
    BANDANA_ASSIGN_OR_RETURN(const std::string text, settings.TakeText(key, otherwise));
    if (text.empty() && !given) continue;
    std::vector<Values> longer;
    for (const Values& values : combinations) {
      for (const absl::string_view value : absl::StrSplit(text, ',')) {
        longer.push_back(values);
        longer.back()[std::string(key)] = std::string(value);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

const Contender* FindContender(const Suite& suite, std::string_view name) {
  for (const Contender& contender : suite.contenders) {
    if (contender.name == name) return &contender;
  }
  return nullptr;
}

std::vector<std::string> NamesOf(const std::vector<Contender>& contenders) {
  std::vector<std::string> names;
  names.reserve(contenders.size());
  for (const Contender& contender : contenders) names.emplace_back(contender.name);
  return names;
}

absl::StatusOr<std::string> EnvironmentOf(const Experiment& experiment, Settings& settings) {
  BANDANA_ASSIGN_OR_RETURN(const std::string data, settings.TakeText("data", ""));
  BANDANA_ASSIGN_OR_RETURN(const std::string name,
                           settings.TakeText("environment", experiment.environment));
  if (std::string_view(name) != kRecorded) {
    if (!data.empty())
      return InvalidArgument("setting `data` is for experiments on data sets, not for `", name,
                             "`");
    return name;
  }
  if (data.empty()) {
    return FailedPrecondition(ToAbsl(experiment.name),
                              " needs a data set: --set data=DIR, the folder that bandana-import "
                              "wrote (docs/import.md)");
  }
  return absl::StrCat("hetrec:", data);
}

}  // namespace

absl::StatusOr<FoundExperiment> FindExperiment(std::span<const Suite* const> suites,
                                               std::string_view name) {
  std::vector<std::string> names;
  for (const Suite* suite : suites) {
    for (const Experiment& experiment : suite->experiments) {
      if (experiment.name == name) return FoundExperiment{suite, &experiment};
      names.emplace_back(experiment.name);
    }
  }
  return InvalidArgument("experiment must be one of ", absl::StrJoin(names, ", "), ", got `",
                         ToAbsl(name), "`");
}

absl::StatusOr<std::vector<Cell>> CellsOf(const Suite& suite, const Experiment& experiment,
                                          Settings settings, int seeds) {
  Cell base;
  BANDANA_ASSIGN_OR_RETURN(base.environment, EnvironmentOf(experiment, settings));
  BANDANA_ASSIGN_OR_RETURN(const auto combinations, Combinations(suite, experiment, settings));
  BANDANA_ASSIGN_OR_RETURN(const auto algorithms,
                           TakeNames(settings, "algorithms", experiment.algorithms));
  BANDANA_ASSIGN_OR_RETURN(const auto labels, TakeNames(settings, "labels", experiment.labels));
  BANDANA_ASSIGN_OR_RETURN(
      const auto epsilons,
      TakeNumbers(settings, "epsilon", experiment.epsilons, 1e-6, kEpsilonResearchMax));
  BANDANA_ASSIGN_OR_RETURN(
      const auto deltas,
      TakeNumbers(settings, "delta", std::vector<double>{experiment.delta}, 0, 1 - 1e-9));
  BANDANA_ASSIGN_OR_RETURN(const auto horizons,
                           TakeNumbers(settings, "horizon", experiment.horizons, 1, kHorizonMax));
  BANDANA_RETURN_IF_ERROR(settings.Finish());

  std::vector<Cell> cells;
  const auto add_seeds = [&](Cell cell) {
    for (int seed = 1; seed <= seeds; ++seed) {
      cell.seed = seed;
      cells.push_back(cell);
    }
  };
  const auto add_budgets = [&](Cell cell, const Label& label) {
    if (!label.uses_epsilon) return add_seeds(cell);
    for (const double epsilon : epsilons) {
      cell.epsilon = epsilon;
      if (!label.uses_delta) {
        add_seeds(cell);
        continue;
      }
      for (const double delta : deltas) {
        cell.delta = delta;
        add_seeds(cell);
      }
    }
  };
  for (const std::uint64_t horizon : horizons) {
    for (const Values& values : combinations) {
      Cell cell = base;
      cell.horizon = horizon;
      cell.settings = values;
      for (const std::string& name : algorithms) {
        const Contender* contender = FindContender(suite, name);
        if (contender == nullptr)
          return InvalidArgument("algorithm must be one of ",
                                 absl::StrJoin(NamesOf(suite.contenders), ", "), ", got `", name,
                                 "`");
        cell.algorithm = name;
        for (const std::string& wanted : labels) {
          for (const Label& label : contender->labels) {
            if (label.name != wanted) continue;
            cell.label = wanted;
            add_budgets(cell, label);
          }
        }
      }
    }
  }
  if (cells.empty())
    return InvalidArgument("none of the labels ", absl::StrJoin(labels, ", "), " fits any of ",
                           absl::StrJoin(algorithms, ", "));
  return cells;
}

}  // namespace bandana::lab
