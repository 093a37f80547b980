#include "tools/tune/tune.h"

#include <google/protobuf/text_format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/base/text.h"
#include "common/judging/survey.h"
#include "tools/judge/evaluate.h"
#include "tools/judge/log_files.h"
#include "tools/replay/replayed_model.h"
#include "tools/tune/pattern_search.h"
#include "tools/tune/tuned_parameters.h"

namespace bandana {
namespace {

constexpr double kAlphaFactors[] = {0, 0.5, 2};

absl::StatusOr<v1::ModelConfig> ReadModel(const TuneOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text,
                           ReadTextFile(options.config, kConfigFileBytesMax));
  v1::ServerConfig server;
  if (!google::protobuf::TextFormat::ParseFromString(text, &server)) {
    return InvalidArgument(options.config, ": is not a textproto of a server's configuration");
  }
  for (const v1::ModelConfig& model : server.models()) {
    if (model.name() == options.model) return model;
  }
  return InvalidArgument(options.config, ": has no model \"", options.model, "\"");
}

absl::Status CheckTunable(const v1::ModelConfig& config) {
  if (config.has_effects() && config.effects().learn_scales()) {
    return InvalidArgument("effects.learn_scales: the model tunes its scales while it serves");
  }
  return absl::OkStatus();
}

// A configuration as a file that replays read.
class ConfigFile {
 public:
  static absl::StatusOr<ConfigFile> Make(const std::string& folder) {
    BANDANA_ASSIGN_OR_RETURN(TempFolder temp, TempFolder::OfMachine());
    return ConfigFile(std::move(temp), folder);
  }
  // Files that it names are those beside the given one.
  absl::Status Write(v1::ModelConfig config) const {
    if (!config.arms_file().empty()) {
      config.set_arms_file(ResolvePath(config.arms_file(), folder_));
    }
    if (config.has_effects() && !config.effects().users_file().empty()) {
      config.mutable_effects()->set_users_file(ResolvePath(config.effects().users_file(), folder_));
    }
    std::string text;
    if (!google::protobuf::TextFormat::PrintToString(config, &text)) {
      return absl::InternalError("a configuration cannot be printed");
    }
    return WriteFileDurably(path(), text, 0600);
  }
  std::string path() const { return temp_.path() + "/candidate.textproto"; }

 private:
  ConfigFile(TempFolder temp, std::string folder)
      : temp_(std::move(temp)), folder_(std::move(folder)) {}
  TempFolder temp_;
  std::string folder_;
};

// The decisions of a log that are learnt from, again and again.
class Log {
 public:
  explicit Log(const TuneOptions& options)
      : files_(options.logs), survey_({.unreported = options.unreported}) {}

  absl::Status Look() {
    BANDANA_RETURN_IF_ERROR(ForEach([&](const LoggedDecision& decision) {
      survey_.Look(decision, files_.Where());
      return absl::OkStatus();
    }));
    return survey_.EndLook();
  }
  template <typename Use>
  absl::Status ForEachUsed(const Use& use) {
    survey_.StartAgain();
    return ForEach([&](const LoggedDecision& decision) {
      return survey_.Reason(decision).empty() ? use(decision) : absl::OkStatus();
    });
  }

 private:
  template <typename Use>
  absl::Status ForEach(const Use& use) {
    BANDANA_RETURN_IF_ERROR(files_.Start());
    LoggedDecision decision;
    DecisionFault fault;
    for (;;) {
      BANDANA_ASSIGN_OR_RETURN(const DecisionStream::Next next, files_.Read(decision, fault));
      if (next == DecisionStream::Next::kEnd) return absl::OkStatus();
      if (next == DecisionStream::Next::kFault) continue;
      if (const absl::Status used = use(decision); !used.ok()) {
        return Annotate(used, files_.Where());
      }
    }
  }
  LogFiles files_;
  Survey survey_;
};

class Tuner {
 public:
  Tuner(const TuneOptions& options, ConfigFile file)
      : options_(options), file_(std::move(file)), log_(options) {}

  absl::Status Look() { return log_.Look(); }
  absl::StatusOr<std::unique_ptr<ReplayedModel>> Replay(const v1::ModelConfig& config) {
    BANDANA_RETURN_IF_ERROR(file_.Write(config));
    auto model = ReplayedModel::Create(
        {.file = file_.path(), .unreported = options_.unreported.value_or(0)});
    return Annotated(std::move(model));
  }
  absl::StatusOr<double> Evidence(const v1::ModelConfig& config, std::uint64_t& decisions) {
    BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayedModel> model, Replay(config));
    double evidence = 0;
    decisions = 0;
    BANDANA_RETURN_IF_ERROR(log_.ForEachUsed([&](const LoggedDecision& decision) -> absl::Status {
      BANDANA_ASSIGN_OR_RETURN(const double density, model->LearnWithEvidence(decision));
      evidence += density;
      ++decisions;
      return absl::OkStatus();
    }));
    if (decisions == 0) return FailedPrecondition("the log has no decision that counts");
    return evidence;
  }
  absl::Status Value(int candidates, TuneCandidate& candidate) {
    BANDANA_RETURN_IF_ERROR(file_.Write(candidate.config));
    EvaluateOptions evaluate;
    evaluate.logs = options_.logs;
    evaluate.policies = {"config:" + file_.path()};
    evaluate.unreported = options_.unreported;
    evaluate.confidence = 1 - (1 - options_.confidence) / candidates;
    BANDANA_ASSIGN_OR_RETURN(const Evaluation judged,
                             Evaluate(evaluate, [](const std::string&) {}));
    candidate.note = judged.error;
    if (judged.rows.empty()) return absl::OkStatus();
    candidate.value = judged.rows[0].value;
    candidate.low = judged.rows[0].low;
    candidate.high = judged.rows[0].high;
    candidate.note = judged.rows[0].note;
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<ReplayedModel>> Annotated(
      absl::StatusOr<std::unique_ptr<ReplayedModel>> model) const {
    BANDANA_RETURN_IF_ERROR(Annotate(model.status(), "model " + options_.model));
    return model;
  }
  const TuneOptions& options_;
  ConfigFile file_;
  Log log_;
};

TuneCandidate MakeCandidate(std::string name, const v1::ModelConfig& config,
                            const std::vector<TunedParameter>& parameters,
                            const std::vector<double>& values) {
  TuneCandidate candidate{.name = std::move(name), .config = config};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].set(values[i], candidate.config);
    candidate.parameters.emplace_back(parameters[i].name, values[i]);
  }
  return candidate;
}

// Exploration does not change what is believed, so evidence cannot tell it: values can.
void AddAlphas(const TuneCandidate& tuned, Tuning& tuning) {
  if (tuned.config.exploration().rule_case() == v1::Exploration::kAlphaLog ||
      tuned.config.exploration().rule_case() == v1::Exploration::kConfidence) {
    return;
  }
  const double given = tuned.config.exploration().rule_case() == v1::Exploration::kAlpha
                           ? tuned.config.exploration().alpha()
                           : 0.3;
  if (given == 0) return;
  for (const double factor : kAlphaFactors) {
    TuneCandidate candidate = tuned;
    candidate.config.mutable_exploration()->set_alpha(factor * given);
    candidate.name = absl::StrCat("tuned, alpha ", factor * given);
    candidate.parameters.emplace_back("exploration.alpha", factor * given);
    tuning.candidates.push_back(std::move(candidate));
  }
}

}  // namespace

absl::StatusOr<Tuning> Tune(const TuneOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(const v1::ModelConfig read, ReadModel(options));
  BANDANA_RETURN_IF_ERROR(Annotate(CheckTunable(read), "model " + options.model));
  const std::string folder = std::filesystem::path(options.config).parent_path().string();
  BANDANA_ASSIGN_OR_RETURN(ConfigFile file, ConfigFile::Make(folder));
  Tuner tuner(options, std::move(file));
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<ReplayedModel> first, tuner.Replay(read));
  const v1::ModelConfig given = WithListedEffects(read, first->spec());
  const std::vector<TunedParameter> parameters =
      TunedParametersOf(given, first->spec().reward_stddev);
  BANDANA_RETURN_IF_ERROR(tuner.Look());
  Tuning tuning;
  std::vector<double> start;
  for (const TunedParameter& parameter : parameters) start.push_back(parameter.start);
  const auto replay = [&](const std::vector<double>& values) -> absl::StatusOr<double> {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(values[i] >= parameters[i].low && values[i] <= parameters[i].high)) return -INFINITY;
    }
    return tuner.Evidence(MakeCandidate("", given, parameters, values).config, tuning.decisions);
  };
  const auto evidence = [&](const std::vector<double>& values) -> absl::StatusOr<double> {
    BANDANA_ASSIGN_OR_RETURN(const double found, replay(values));
    tuning.replays.push_back({.values = values, .evidence = found});
    return found;
  };
  TuneCandidate before = MakeCandidate("given", given, parameters, start);
  BANDANA_ASSIGN_OR_RETURN(const SearchResult found,
                           MaximizeByPattern(start, options.evaluations_max, evidence));
  before.evidence = tuning.replays.front().evidence;
  TuneCandidate tuned = MakeCandidate("tuned", given, parameters, found.at);
  tuned.evidence = found.value;
  tuning.evaluations = found.evaluations;
  tuning.candidates = {before, tuned};
  AddAlphas(tuned, tuning);
  for (TuneCandidate& candidate : tuning.candidates) {
    BANDANA_RETURN_IF_ERROR(tuner.Value(static_cast<int>(tuning.candidates.size()), candidate));
  }
  // Another alpha only where its interval lies above that of the given one.
  tuning.best = 1;
  for (std::size_t at = 2; at < tuning.candidates.size(); ++at) {
    const TuneCandidate& best = tuning.candidates[tuning.best];
    if (best.high && tuning.candidates[at].low && *tuning.candidates[at].low > *best.high) {
      tuning.best = at;
    }
  }
  return tuning;
}

std::string ToUpdate(const Tuning& tuning) {
  const TuneCandidate& best = tuning.candidates[tuning.best];
  const v1::ModelConfig& given = tuning.candidates[0].config;
  v1::ModelConfig update;
  update.set_name(given.name());
  if (best.config.reward_stddev() != 0) update.set_reward_stddev(best.config.reward_stddev());
  if (best.config.prior_stddev() != 0) update.set_prior_stddev(best.config.prior_stddev());
  if (best.config.has_effects() && best.config.effects().effects_size() > 0) {
    *update.mutable_effects() = best.config.effects();
  }
  if (tuning.best > 1) *update.mutable_exploration() = best.config.exploration();
  std::string text;
  google::protobuf::TextFormat::PrintToString(update, &text);
  const char* const how = update.has_effects()
                              ? "these effects are another model than those before: make a new one"
                              : "take it by bandana-ctl models update";
  return absl::StrCat("# Written by bandana-ctl tune; ", how, ".\n", text);
}

}  // namespace bandana
