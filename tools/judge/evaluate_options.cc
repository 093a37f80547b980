#include "tools/judge/evaluate_options.h"

#include <limits>
#include <string_view>

#include "common/base/exact_number.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tools/judge/policy_names.h"

namespace bandana {
namespace {

absl::Status Takes(std::string_view flag, std::string_view form, std::string_view got) {
  return InvalidArgument("--", ToAbsl(flag), " takes ", ToAbsl(form), ", got \"", ToAbsl(got),
                         "\"");
}

absl::Status ReadEstimators(std::string_view value, EvaluateOptions& options) {
  options.estimators.clear();
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::string_view name = TakeField(rest, ',');
    bool known = false;
    for (const Estimator estimator :
         {Estimator::kIps, Estimator::kSnips, Estimator::kDm, Estimator::kDr}) {
      if (name != EstimatorName(estimator)) continue;
      options.estimators.push_back(estimator);
      known = true;
    }
    if (!known) return Takes("estimator", "ips, snips, dm and dr, parted by commas", value);
  }
  return options.estimators.empty() ? Takes("estimator", "ips, snips, dm or dr", value)
                                    : absl::OkStatus();
}

absl::Status ReadNumberFlag(std::string_view flag, std::string_view value, EvaluateOptions& out) {
  const std::optional<double> number = ReadExactNumber(value);
  if (flag == "unreported") {
    if (!number) return Takes(flag, "a reward", value);
    out.unreported = number;
    return absl::OkStatus();
  }
  if (!number || !(*number > 0 && *number < 1)) return Takes(flag, "a number in (0, 1)", value);
  out.confidence = *number;
  return absl::OkStatus();
}

absl::Status ReadEpsilons(std::string_view value, EvaluateOptions& options) {
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::optional<double> epsilon = ReadExactNumber(TakeField(rest, ','));
    if (!epsilon || !(*epsilon > 0))
      return Takes("epsilon", "numbers above 0, parted by commas", value);
    options.epsilons.push_back(*epsilon);
  }
  return absl::OkStatus();
}

absl::Status ReadSeed(std::string_view value, EvaluateOptions& options) {
  const auto seed = ReadWholeNumber(value, std::numeric_limits<std::uint64_t>::max());
  if (!seed) return Takes("seed", "a whole number", value);
  options.seed = *seed;
  return absl::OkStatus();
}

template <typename T>
absl::Status ReadChoice(std::string_view flag, std::string_view value, std::string_view first,
                        T first_value, std::string_view second, T second_value, T& out) {
  if (value != first && value != second) {
    return Takes(flag, absl::StrCat(ToAbsl(first), " or ", ToAbsl(second)), value);
  }
  out = value == first ? first_value : second_value;
  return absl::OkStatus();
}

absl::Status ReadFlag(std::string_view flag, std::string_view value, EvaluateOptions& options) {
  if (value.empty()) return InvalidArgument("--", ToAbsl(flag), " needs a value");
  if (flag == "log") {
    options.logs.emplace_back(value);
  } else if (flag == "policy") {
    options.policies.emplace_back(value);
  } else if (flag == "against") {
    options.against = value;
  } else if (flag == "plot") {
    options.plot = value;
  } else if (flag == "json") {
    options.json = value;
  } else if (flag == "estimator") {
    return ReadEstimators(value, options);
  } else if (flag == "epsilon") {
    return ReadEpsilons(value, options);
  } else if (flag == "seed") {
    return ReadSeed(value, options);
  } else if (flag == "interval") {
    return ReadChoice(flag, value, "anytime", IntervalKind::kAnytime, "large_sample",
                      IntervalKind::kLargeSample, options.interval);
  } else if (flag == "lists") {
    return ReadChoice(flag, value, "prefix", ListWeights::kPrefix, "whole", ListWeights::kWhole,
                      options.lists);
  } else if (flag == "confidence" || flag == "unreported") {
    return ReadNumberFlag(flag, value, options);
  } else {
    return InvalidArgument("evaluate has no flag --", ToAbsl(flag));
  }
  return absl::OkStatus();
}

bool IsFlag(std::string_view word) { return word.starts_with("--"); }

}  // namespace

absl::StatusOr<EvaluateOptions> ParseEvaluateOptions(std::span<const std::string> words) {
  EvaluateOptions options;
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string_view word = words[at];
    if (!IsFlag(word)) {
      return InvalidArgument("\"", ToAbsl(word), "\" belongs to no flag of evaluate");
    }
    word.remove_prefix(2);
    if (word == "each" || word == "clipped") {
      (word == "each" ? options.each : options.clipped) = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view flag = word.substr(0, equals);
    if (equals != std::string_view::npos) {
      BANDANA_RETURN_IF_ERROR(ReadFlag(flag, word.substr(equals + 1), options));
      continue;
    }
    const bool several = flag == "log" || flag == "policy";
    const std::size_t first = at + 1;
    while (at + 1 < words.size() && !IsFlag(words[at + 1]) && (several || at + 1 == first)) {
      BANDANA_RETURN_IF_ERROR(ReadFlag(flag, words[++at], options));
    }
    if (at + 1 == first) BANDANA_RETURN_IF_ERROR(ReadFlag(flag, "", options));
  }
  if (options.logs.empty()) return InvalidArgument("evaluate needs --log FILE");
  if (options.policies.empty()) return InvalidArgument("evaluate needs --policy POLICY");
  bool configs = false;
  for (const std::string& policy : options.policies) {
    BANDANA_RETURN_IF_ERROR(CheckPolicyName(policy));
    configs = configs || IsConfigPolicy(policy);
  }
  if (!options.epsilons.empty() && !configs) {
    return InvalidArgument("--epsilon is for policies config:FILE");
  }
  if (!options.against.empty()) BANDANA_RETURN_IF_ERROR(CheckPolicyName(options.against));
  return options;
}

std::string EvaluateHelp() {
  return "bandana-ctl evaluate --log FILE... --policy POLICY...: what policies would have brought "
         "on the\ndecisions of a log, without a server (docs/evaluate.md).\n\n"
         "  --log FILE...        lines of JSON, of `decisions export` or an import, .gz as well; "
         "or "
         "the folder of\n                       a log whose server has stopped\n"
         "  --policy POLICY...   uniform, logging, greedy, first, constant:ARM, table:FILE, "
         "scores:FILE,\n                       config:FILE (learns from the log while it is "
         "judged), model:EXPORT (as it\n                       was exported)\n"
         "  --epsilon 1,2,5      config:FILE also with rewards randomized so; --seed 1\n"
         "  --against POLICY     rows are differences to this one\n"
         "  --estimator dr       ips, snips, dm, dr, parted by commas\n"
         "  --interval anytime   or large_sample\n"
         "  --confidence 0.95    of all intervals together; --each: of each\n"
         "  --lists prefix       a slot's reward depends on no later slot; whole: it may\n"
         "  --unreported VALUE   the reward of decisions that no report came for\n"
         "  --clipped            the value of clipped rewards (CENTRED_RANDOMIZER)\n"
         "  --plot FILE.svg      a picture; --json FILE: the answer as JSON, - to stdout alone\n\n"
         "Exit: 0 judged; 1 cannot be judged (rows that there are are written); 2 arguments.\n";
}

}  // namespace bandana
