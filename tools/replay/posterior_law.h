// The law by which a model's policy chooses among arms, from its posterior.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/random/keyed_stream.h"
#include "common/ranking/scoring.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// Draws of the posterior come from `noise`, which must outlive it. Not thread-safe.
class PosteriorLaw {
 public:
  // `spec` must outlive it.
  PosteriorLaw(const ModelSpec& spec, KeyedStream& noise) : spec_(spec), noise_(noise) {}

  // The probability of each arm, 0 for those that are `taken` (by position; empty: none is).
  // Errors: UNAVAILABLE no noise.
  absl::Status Of(const ServedPosterior& posterior, const Whom& whom, const ArmsOnOffer& arms,
                  const std::vector<std::uint8_t>& taken, std::vector<double>& law);

 private:
  const ModelSpec& spec_;
  KeyedStream& noise_;
  NodePosterior scratch_;
  ArmScores scores_;
  std::vector<double> draws_, law_;
  std::vector<int> left_;
};

// Repeatable noise of a run, by what it is for. Keeps nothing secret.
absl::StatusOr<KeyedStream> SeededNoise(std::string_view purpose);

}  // namespace bandana
