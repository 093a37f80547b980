// The arguments of `bandana-ctl evaluate`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/judging/row.h"

namespace bandana {

struct EvaluateOptions {
  std::vector<std::string> logs;
  std::vector<std::string> policies;  // as EvaluateHelp lists them
  std::string against;                // rows are differences to this policy; empty: values
  std::vector<Estimator> estimators;  // empty: dr
  IntervalKind interval = IntervalKind::kAnytime;
  double confidence = 0.95;
  ListWeights lists = ListWeights::kPrefix;
  std::optional<double> unreported;
  std::vector<double> epsilons;  // of configurations, which then also learn from noisy rewards
  std::uint64_t seed = 1;        // of that noise
  bool each = false;
  bool clipped = false;
  std::string plot;  // an SVG; empty: none
  std::string json;  // a file; "-": alone, to stdout; empty: none
};

// From the words after `evaluate`: `--flag value`, `--flag=value`; --log and --policy take several
// values, and may be repeated. Errors: INVALID_ARGUMENT names the flag and what it takes.
absl::StatusOr<EvaluateOptions> ParseEvaluateOptions(std::span<const std::string> words);

std::string EvaluateHelp();

}  // namespace bandana
