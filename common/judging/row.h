// One line of a judgement's answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/judging/judge.h"

namespace bandana {

enum class Estimator { kIps, kSnips, kDm, kDr };
enum class IntervalKind { kAnytime, kLargeSample };

std::string_view EstimatorName(Estimator estimator);

struct JudgementRow {
  std::string policy;
  std::string against;  // empty: the value itself
  Estimator estimator = Estimator::kDr;
  std::string_view interval;               // "anytime", "large_sample" or "bounds"
  std::optional<double> value, low, high;  // reward units; of a list, the sum over its slots
  double confidence = 0.95;
  std::uint64_t decisions = 0;
  double effective_decisions = 0;
  double terms = 0;
  double weight_mean = 0;
  double weight_max = 0;
  double uncovered = 0;  // mass on arms that were never drawn, 0 to the slots of a decision
  std::string note;      // what a reader must know
  bool judged = false;   // there are a value and the interval that was asked for
};

struct RowOptions {
  Estimator estimator = Estimator::kDr;
  IntervalKind interval = IntervalKind::kAnytime;
  double confidence = 0.95;  // all intervals of the answer together, or each
  double alpha = 0.05;       // of this pair's interval
};

// The row of a pair when the judge has seen the log. docs/design/judging.md says which intervals
// there are; those that there are not are null, and `note` says why. Pure.
JudgementRow MakeRow(const Judge& judge, std::size_t pair, const RowOptions& options);

}  // namespace bandana
