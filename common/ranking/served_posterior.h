// The interface by which Select reads a model: the posterior of one user and the scores of arms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/ranking/effect_key.h"

namespace bandana {

struct ArmScores;      // common/ranking/scoring.h
struct NodePosterior;  // common/ranking/posterior.h

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
  // By part of an arm: its mean counts times this, and its variance times the square. Empty: 1.
  std::vector<float> part_weights;
};

// An arm's own share of its score, besides what ScoreLaw says of every arm.
struct ArmShare {
  double mean = 0;
  double variance = 0;  // of the squared width
};

// The share of one effect in one arm, in reward units.
struct EffectShare {
  double mean = 0;
  double width = 0;
};

// The part that one effect of arms adds to one arm: normal, independent of all that has another
// key.
struct ArmPart {
  EffectKey key = kAbsent;
  double mean = 0;   // reward units
  double width = 0;  // standard deviation, reward units
};

// An operator's view of one effect.
struct EffectLook {
  struct Value {
    EffectKey key = kAbsent;
    std::string name;  // where somebody knows it
    double mean = 0;   // reward units; of an effect of the features the length of its mean
    double width = 0;  // reward units; 0 of an effect of the features
  };
  std::string name;
  EffectScope scope;
  bool vector = false;         // of the features; else of the constant
  std::uint64_t blocks = 0;    // keys of which something was learnt
  double prior_variance = 0;   // in force
  double weight = 1;           // by which it counts
  std::vector<Value> largest;  // largest first; nothing of single users and of pairs
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
  // The effects that a score is the sum of; none for a model of one part.
  virtual std::vector<std::string> effect_names() const { return {}; }
  // The share of each effect in each arm: n times effect_names().size(), row-major. The means of an
  // arm add up to its mean, the squared widths to its squared width. An effect that the decision
  // does not have is 0 in both.
  virtual void Explain(const Whom& /*whom*/, const ArmsOnOffer& /*arms*/,
                       std::vector<EffectShare>& out) const {
    out.clear();
  }
  // The arms' own effects besides their features, for joint draws: so many parts per arm, an effect
  // each; `out` has n rows of them. Arms with the same key in a column share what the effect adds.
  virtual std::size_t PartsOfArms(const Whom& /*whom*/, const ArmsOnOffer& /*arms*/,
                                  std::vector<ArmPart>& out) const {
    out.clear();
    return 0;
  }
  // An operator's view, with the `count` largest values of each effect. Goes over all of them: some
  // milliseconds per million, for which the writer waits.
  virtual std::vector<EffectLook> Look(std::size_t /*count*/) const { return {}; }
  // The law by which Score makes scores, for a search by bounds (arm_search.h). None where an arm
  // may have more of its own than a mean and a variance: then every arm has to be scored.
  virtual std::optional<ScoreLaw> Law(const Whom& whom, NodePosterior& scratch) const = 0;
  // The share of an arm with these key parts, where there is a Law.
  virtual ArmShare ShareOf(std::span<const EffectKey> /*arm*/) const { return {}; }
};

}  // namespace bandana
