// An evaluation as text, as JSON, and as a picture.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/judge/evaluate.h"

namespace bandana {

// A table for people, and what they must know of the log.
std::string EvaluationText(const Evaluation& evaluation);
// {log: {lines, used, skipped, from, to, reward, epsilon, propensities}, rows: [...], error}; null
// where there is none.
std::string EvaluationJson(const Evaluation& evaluation);
// Values with their intervals, a row each, as SVG. Errors: UNAVAILABLE gnuplot is missing, or I/O.
absl::Status DrawEvaluation(const Evaluation& evaluation, const std::string& path);

}  // namespace bandana
