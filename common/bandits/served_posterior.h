// What Select reads of a model: the posterior of one user and the scores of arms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/bandits/effects/effect_key.h"

namespace bandana {

struct ArmScores;      // common/bandits/scoring.h
struct NodePosterior;  // common/bandits/posterior.h

// Whose posterior is asked for.
struct Whom {
  int node = 0;                     // -1: a user never seen
  std::span<const EffectKey> keys;  // models of effects: the user's key parts
};

// Arms to be scored, n of them.
struct ArmsOnOffer {
  std::span<const double* const> features;  // d at each pointer
  // Models of effects: n times the key parts of an arm; else none.
  std::span<const EffectKey> keys;
};

// Scores are x . m + means + alpha sqrt(x' P x + variances), where one mean and one variance are
// every arm's, and others perhaps of the arm.
struct ScoreLaw {
  const NodePosterior* posterior = nullptr;  // m, P, alpha; as ServedPosterior::Of
  double mean = 0;
  double variance = 0;
};

// At one log position; what is read of it may hold more where the model learns in place. Threads:
// all methods are safe.
class ServedPosterior {
 public:
  virtual ~ServedPosterior() = default;
  // Log sequence of the last entry in it.
  virtual std::uint64_t version() const = 0;
  virtual int nodes() const = 0;
  // The posterior of the coefficients that the features of every arm have. The answer is `scratch`,
  // or lives as long as this object.
  virtual const NodePosterior& Of(const Whom& whom, NodePosterior& scratch) const = 0;
  // Means, widths and scores (ScoreArms), with what each arm has of its own. `scratch` is reused.
  virtual void Score(const Whom& whom, const ArmsOnOffer& arms, NodePosterior& scratch,
                     ArmScores& out) const = 0;
  // What Score makes scores of, for a search by bounds (arm_search.h). None where an arm may have
  // more of its own than a mean and a variance: then every arm has to be scored.
  virtual std::optional<ScoreLaw> Law(const Whom& whom, NodePosterior& scratch) const = 0;
};

}  // namespace bandana
