// What Select reads of a model: the posterior of one user and the scores of arms.
#pragma once

#include <cstdint>
#include <span>

#include "common/bandits/effects/effect_key.h"
#include "common/bandits/posterior.h"
#include "common/bandits/scoring.h"

namespace bandana {

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
};

}  // namespace bandana
