// A model's scales, from a decision log: docs/design/judging.md#tuning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/config.pb.h"

namespace bandana {

struct TuneOptions {
  std::vector<std::string> logs;
  std::string config;  // a server's configuration, as text
  std::string model;   // its name there
  std::optional<double> unreported;
  double confidence = 0.95;
  int evaluations_max = 80;     // replays of the log
  std::string json, out, plot;  // files; empty: none
};

struct TuneCandidate {
  std::string name;  // "given", "tuned", "tuned, alpha 0.15"
  std::vector<std::pair<std::string, double>> parameters;
  v1::ModelConfig config;
  double evidence = 0;                     // log density of the rewards, each given those before
  std::optional<double> value, low, high;  // doubly robust, anytime; none: `note` says why
  std::string note;
};

// One replay of the search.
struct TuneReplay {
  std::vector<double> values;  // of the parameters, in the candidates' order
  double evidence = 0;         // -inf: out of the range of a parameter
};

struct Tuning {
  std::vector<TuneCandidate> candidates;
  std::vector<TuneReplay> replays;  // in their order
  std::size_t best = 0;             // that the file of --out has
  std::uint64_t decisions = 0;      // that were learnt from
  int evaluations = 0;
};

// Replays the log through candidates by the state machine that serves. Errors: INVALID_ARGUMENT the
// options or the configuration; FAILED_PRECONDITION the log or the model cannot be tuned, with the
// reason; NOT_FOUND, UNAVAILABLE files.
absl::StatusOr<Tuning> Tune(const TuneOptions& options);

// The fields that differ from the given ones, as `models update` takes them.
std::string ToUpdate(const Tuning& tuning);

}  // namespace bandana
