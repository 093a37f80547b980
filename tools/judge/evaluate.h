// Judges policies by decision logs on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/judging/row.h"
#include "tools/judge/evaluate_options.h"

namespace bandana {

struct Evaluation {
  // Lines of the log: all, those that rows are made of, and others by their reason.
  std::uint64_t lines = 0;
  std::uint64_t used = 0;
  std::map<std::string, std::uint64_t> skipped;
  std::optional<absl::Time> from, to;
  std::string reward;             // "raw", "released", "clipped"; empty: there is none
  std::optional<double> epsilon;  // of released rewards, if one and the same
  std::string propensities;       // "right" or "not tested"; empty: the log was not judged
  std::vector<JudgementRow> rows;
  std::string error;  // why the log cannot be judged; empty: it can

  // Whether each row has what was asked for.
  bool judged() const;
};

// Tells a person of a line that is left out.
using EvaluateNote = std::function<void(const std::string&)>;

// Goes over the log two or three times. Errors: INVALID_ARGUMENT a policy that there is not, or its
// file; NOT_FOUND, UNAVAILABLE files. A log that cannot be judged is an Evaluation with `error`.
absl::StatusOr<Evaluation> Evaluate(const EvaluateOptions& options, const EvaluateNote& note);

}  // namespace bandana
